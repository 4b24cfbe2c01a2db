// The documents that answers are drawn from, and files on their way to become some.

import { call, get, send, upload } from "./api.svelte";
import { notices } from "./notices.svelte";
import { reason } from "./problems";
import { route } from "./route.svelte";
import { sessions } from "./sessions.svelte";
import { hear, tell } from "./tabs";
import type { Document, Session } from "./types";
import { t } from "./words.svelte";

export const ACCEPTED = ".txt,.md,.markdown,.pdf,text/plain,text/markdown,application/pdf";

/** A file on its way; `document` once it has arrived. */
export interface Coming {
  name: string;
  part: number;
  problem: string;
  document: Document | null;
}

/** The documents that the conversation at hand is answered from; none: all of them. */
class Limited {
  fresh = $state<string[]>([]); // those of a conversation that has no session yet

  of(session: string | null): string[] {
    return session ? (sessions.find(session)?.document_ids ?? []) : this.fresh;
  }

  async set(session: string | null, ids: string[]): Promise<void> {
    if (session) await sessions.change(session, { document_ids: ids });
    else this.fresh = ids;
  }

  /** Those of the new conversation, which is about to begin. */
  take(): string[] {
    const taken = this.fresh;
    this.fresh = [];
    return taken;
  }
}

export const limit = new Limited();

class Documents {
  items = $state<Document[]>([]);
  coming = $state<Coming[]>([]);
  loaded = $state(false);

  constructor() {
    hear((news) => news.kind === "documents" && this.load());
  }

  async load(): Promise<void> {
    try {
      this.items = (await get<{ items: Document[] }>("/documents")).items;
      this.loaded = true;
    } catch (error) {
      this.loaded = true;
      if (this.items.length) notices.fail(error);
    }
  }

  async remove(document: Document): Promise<void> {
    try {
      await send("DELETE", `/documents/${encodeURIComponent(document.id)}`);
      this.items = this.items.filter((each) => each.id !== document.id);
      notices.say(t("removedDocument", { title: document.title }));
      tell({ kind: "documents" });
    } catch (error) {
      notices.fail(error);
    }
  }

  /** A new chat that is answered from one document alone. */
  async chat(document: Document): Promise<void> {
    try {
      const made = await call<Session>("POST", "/sessions", { body: { document_ids: [document.id] } });
      await sessions.load();
      route.chat(made.id);
    } catch (error) {
      notices.fail(error);
    }
  }

  async add(file: File): Promise<void> {
    this.coming.push({ name: file.name, part: 0, problem: "", document: null });
    const coming = this.coming.at(-1)!;
    try {
      const added: Document = await upload("/documents", {}, file, (part) => (coming.part = part));
      coming.document = added;
      const only = limit.of(route.session);
      if (route.view !== "chat") {
        this.dismiss(coming);
        notices.say(t("added", { title: added.title, count: added.chunk_count }));
      } else if (only.length) await limit.set(route.session, [...only, added.id]); // it was put into this conversation
      tell({ kind: "documents" });
      await this.load();
    } catch (error) {
      coming.problem = reason(error);
    }
  }

  /** Files that have arrived leave the place where the next question is written. */
  settled(): void {
    this.coming = this.coming.filter((each) => !each.document);
  }

  dismiss(coming: Coming): void {
    this.coming = this.coming.filter((each) => each !== coming);
  }
}

export const documents = new Documents();

export async function addFiles(files: Iterable<File>): Promise<void> {
  for (const file of [...files]) await documents.add(file);
}
