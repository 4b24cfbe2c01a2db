// The documents that answers are drawn from, and files on their way to become some.

import { call, get, send, upload } from "./api.svelte";
import { notices, reason } from "./notices.svelte";
import { route } from "./route.svelte";
import { sessions } from "./sessions.svelte";
import { hear, tell } from "./tabs";
import type { Document, Session } from "./types";
import { t } from "./words.svelte";

export const ACCEPTED = ".txt,.md,.markdown,.pdf,text/plain,text/markdown,application/pdf";

export interface Coming {
  name: string;
  part: number;
  problem: string;
}

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
    this.coming.push({ name: file.name, part: 0, problem: "" });
    const coming = this.coming.at(-1)!;
    try {
      const added: Document = await upload("/documents", {}, file, (part) => (coming.part = part));
      this.coming = this.coming.filter((each) => each !== coming);
      notices.say(t("added", { title: added.title, count: added.chunk_count }));
      tell({ kind: "documents" });
      await this.load();
    } catch (error) {
      coming.problem = reason(error);
    }
  }

  dismiss(coming: Coming): void {
    this.coming = this.coming.filter((each) => each !== coming);
  }
}

export const documents = new Documents();

export async function addFiles(files: Iterable<File>): Promise<void> {
  for (const file of [...files]) await documents.add(file);
}
