// What the server refuses, in the language of the page. The server writes English; here each kind of refusal has its
// sentence in every language, and only what has none is told in the server's own words.

import { Problem } from "./api.svelte";
import { named, t, type Word } from "./words.svelte";

const BY_STATUS: Record<number, Word> = {
  401: "loginWrong",
  403: "refused403",
  404: "refused404",
  408: "refused408",
  409: "refused409",
  413: "refused413",
  429: "refused429",
  500: "refused500",
  502: "refused502",
  503: "refused503",
  507: "refused507",
};

/** Refusals of one status that a person can do something about; the words are those of the server. */
const BY_DETAIL: [RegExp, Word][] = [
  [/holds no text/, "fileEmpty"],
  [/of an unknown kind/, "fileKind"],
  [/not UTF-8/, "fileEncoding"],
  [/(?:characters|pages)(?:;| and) [\d,]+ are allowed|has more than [\d,]+ characters/, "fileLong"],
  [/PDF needs the package/, "filePdf"],
  [/ is encrypted|with this password/, "fileLocked"],
  [/cannot be read as a PDF/, "fileBroken"],
  [/takes more than \S+ seconds to read/, "fileLong"],
  [/holds no conversations|^format: /, "importUnknown"],
  [/too many answers/, "refused429"],
  [/larger than|too long|too large/, "refused413"],
];

/** Why a request failed, as a sentence. */
export function reason(error: unknown): string {
  if (!(error instanceof Problem) || !error.status) return t("unreachable");
  const known = BY_DETAIL.find(([pattern]) => pattern.test(error.message))?.[1];
  if (known) return t(known);
  const general = BY_STATUS[error.status] ?? (error.status >= 500 ? "refused500" : undefined);
  return general ? t(general) : t("refusedOther", { detail: error.message || String(error.status) });
}

/** Why an answer failed: a model's failure by its cause, which a stored turn keeps too. */
export function failure(problem: { status?: number | null; detail?: string; cause?: string }): string {
  if (!problem.cause) return reason(new Problem(problem.status ?? 500, "", problem.detail ?? ""));
  const known = named("cause", problem.cause);
  return known === problem.cause ? (problem.detail ?? known) : known;
}
