// A file of conversations on its way in, and what the server says of its progress. The user is always named: without
// a name the conversations would go to whomever the file says.

import { me } from "./me.svelte";
import { address, events, headers, Problem, service } from "./api.svelte";

export interface Imported {
  format: string;
  sessions_added: number;
  turns_added: number;
  turns_known: number;
  errors: string[];
}

/** `moved` hears how many conversations were read so far. */
export async function importFile(file: File, moved: (done: number) => void): Promise<Imported> {
  const form = new FormData();
  form.append("file", file);
  const response = await fetch(address("/import", { format: "auto", user_id: me.user }), {
    method: "POST",
    headers: headers({ Accept: "text/event-stream, application/json" }),
    body: form,
  });
  service.saw(response);
  if (!response.ok) {
    const told = await response.json().catch(() => ({}));
    throw new Problem(response.status, told, response.statusText);
  }
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return filled(await response.json());
  for await (const { name, data } of events(response)) {
    if (name === "error") throw new Problem(data.status ?? 500, data);
    if (name === "done") return filled(data);
    if (name === "progress") moved(data.documents);
  }
  throw new Problem(0);
}

function filled(told: Partial<Imported>): Imported {
  const errors = (told.errors ?? []).map((each: unknown) => (typeof each === "string" ? each : JSON.stringify(each)));
  return {
    format: told.format ?? "",
    sessions_added: told.sessions_added ?? 0,
    turns_added: told.turns_added ?? 0,
    turns_known: told.turns_known ?? 0,
    errors,
  };
}
