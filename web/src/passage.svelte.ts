// The passage that a citation opens, with what stands around it in its document.

import { get } from "./api.svelte";
import type { Offered, Passage } from "./types";

class Opened {
  id = $state<string | null>(null);
  number = $state<number | null>(null);
  found = $state.raw<Passage | null>(null);
  missing = $state(false);
  #offered = new Map<string, Offered>();

  /** Passages that came with an answer; they can be shown even if no document holds them. */
  remember(offered: Offered[]): void {
    for (const each of offered) this.#offered.set(each.chunk_id, each);
  }

  /** The text of a source, to be shown in a list; null if it is gone. */
  async text(id: string): Promise<Offered | null> {
    const known = this.#offered.get(id);
    if (known) return known;
    try {
      const { text, title, document_id } = await this.#get(id);
      this.remember([{ chunk_id: id, text, title, document_id }]);
      return this.#offered.get(id)!;
    } catch {
      return null;
    }
  }

  #get(id: string): Promise<Passage> {
    return get<Passage>(`/chunks/${id.split("/").map(encodeURIComponent).join("/")}`);
  }

  offered(id: string): Offered | undefined {
    return this.#offered.get(id);
  }

  async open(id: string, number: number | null = null): Promise<void> {
    this.id = id;
    this.number = number;
    this.found = null;
    this.missing = false;
    try {
      const found = await this.#get(id);
      if (this.id === id) this.found = found;
    } catch {
      if (this.id !== id) return;
      const offered = this.#offered.get(id);
      if (offered) {
        const { text, title, document_id } = offered;
        this.found = { id, document_id: document_id ?? "", title: title ?? id, heading: "", text, page: null };
      } else this.missing = true;
    }
  }

  close(): void {
    this.id = null;
  }
}

export const passage = new Opened();
