// What the server refuses, in the language of the page. The server writes English; here each kind of refusal, known by
// its code, has its sentence in every language, and only what has none is told in the server's own words.

import { Problem, type Told } from "./api.svelte";
import { named, t, type Word } from "./words.svelte";

/** The status is enough for most refusals, also for those of a proxy, which have no code. */
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

/** Refusals of one status that a person can do something about. */
const BY_CODE: Record<string, Word> = {
  file_empty: "fileEmpty",
  file_kind_unknown: "fileKind",
  file_encoding: "fileEncoding",
  file_too_long: "fileLong",
  pdf_unsupported: "filePdf",
  file_locked: "fileLocked",
  file_damaged: "fileBroken",
  import_unknown: "importUnknown",
  too_many_answers: "refused429",
  too_large: "refused413",
};

/** Why a request failed, as a sentence. */
export function reason(error: unknown): string {
  if (!(error instanceof Problem) || !error.status) return t("unreachable");
  const known = BY_CODE[error.code] ?? BY_STATUS[error.status] ?? (error.status >= 500 ? "refused500" : undefined);
  return known ? t(known) : t("refusedOther", { detail: error.message || String(error.status) });
}

/** Why an answer failed: a model's failure by its cause, which a stored turn keeps too. */
export function failure(problem: Told): string {
  if (!problem.cause) return reason(new Problem(problem.status ?? 500, problem));
  const known = named("cause", problem.cause);
  return known === problem.cause ? (problem.detail ?? known) : known;
}
