// Questions that were sent, or are to be sent, and that the server has not confirmed yet. They survive a reload of
// their tab, and wait here while the server cannot be reached.

import { call, send } from "./api.svelte";
import type { Session } from "./types";

const KEY = "ricordo-pending";

export interface Pending {
  id: string;
  session: string | null;
  query: string;
  understoodAs: string;
  againOf: string;
  documents: string[];
  model: string;
}

function kept(): Pending[] {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

function keep(items: Pending[]): void {
  if (items.length) sessionStorage.setItem(KEY, JSON.stringify(items));
  else sessionStorage.removeItem(KEY);
}

export const outbox = {
  all: kept,
  of: (session: string | null): Pending[] => kept().filter((each) => each.session === session),
  find: (id: string): Pending | undefined => kept().find((each) => each.id === id),
  put: (pending: Pending): void => keep([...kept().filter((each) => each.id !== pending.id), pending]),
  drop: (id: string): void => keep(kept().filter((each) => each.id !== id)),
};

function asBody(pending: Pending): Record<string, unknown> {
  const { id: turn_id, session: session_id, query, understoodAs: understood_as } = pending;
  const body: Record<string, unknown> = { query, turn_id, session_id, understood_as, stream: true };
  if (pending.againOf) body.again_of = pending.againOf;
  if (pending.model) body.model = pending.model;
  return body;
}

/** Send a question of the outbox. The session of one that is limited to documents is made first. */
export async function post(id: string, signal?: AbortSignal): Promise<Response> {
  const pending = outbox.find(id)!;
  if (!pending.session && pending.documents.length) {
    const body = { document_ids: pending.documents };
    pending.session = (await call<Session>("POST", "/sessions", { body, signal })).id;
    outbox.put(pending);
  }
  return send("POST", "/chat", { body: asBody(pending), signal });
}
