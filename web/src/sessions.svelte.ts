// The conversations of the sidebar: listed a page at a time, changed in place. A deletion is told to the server only
// after a few seconds, or when the page is left, so that it can be taken back without anything having been lost.

import { call, get, send } from "./api.svelte";
import { notices } from "./notices.svelte";
import { route } from "./route.svelte";
import { hear, tell } from "./tabs";
import type { Session } from "./types";
import { t } from "./words.svelte";

const UNDO_SECONDS = 6;

class Sessions {
  items = $state<Session[]>([]);
  archived = $state(false);
  loaded = $state(false);
  failed = $state(false);
  cursor = $state<string | null>(null);
  #named = new Map<string, string>(); // first words of sessions whose title is still being made
  #going = new Map<string, ReturnType<typeof setTimeout>>();
  #asked = 0;

  constructor() {
    hear((news) => {
      if (news.kind === "removed") this.items = this.items.filter((each) => each.id !== news.session);
      else if (news.kind !== "documents") {
        if (news.session && news.title) this.#named.set(news.session, news.title);
        this.load();
      }
    });
    addEventListener("pagehide", () => this.#finish());
  }

  async load(): Promise<void> {
    const asked = ++this.#asked;
    try {
      const limit = Math.min(Math.max(this.items.length, 50), 200);
      const page = await this.#page({ limit });
      if (asked !== this.#asked) return;
      this.items = this.#visible(page.items);
      this.cursor = page.next_cursor;
      this.failed = false;
    } catch {
      this.failed = true;
    }
    this.loaded = true;
  }

  async more(): Promise<void> {
    const page = await this.#page({ limit: 50, cursor: this.cursor });
    const known = new Set(this.items.map((each) => each.id));
    this.items = [...this.items, ...this.#visible(page.items).filter((each) => !known.has(each.id))];
    this.cursor = page.next_cursor;
  }

  show(archived: boolean): void {
    this.archived = archived;
    this.items = [];
    this.loaded = false;
    this.load();
  }

  find(id: string | null): Session | undefined {
    return this.items.find((each) => each.id === id);
  }

  /** A session that has just begun stands in the list at once, before the server is asked for it. */
  begun(id: string, title: string): void {
    this.#named.set(id, title);
    if (this.archived || this.find(id)) return;
    const now = new Date().toISOString();
    this.items = [
      {
        id,
        agent_id: "default",
        title,
        created_at: now,
        last_active_at: now,
        ended_at: null,
        turn_count: 1,
        document_ids: [],
        tags: [],
        archived: false,
      },
      ...this.items,
    ];
  }

  async change(id: string, change: Partial<Pick<Session, "title" | "tags" | "archived">>): Promise<void> {
    try {
      const changed = await call<Session>("PATCH", `/sessions/${encodeURIComponent(id)}`, { body: change });
      this.items = this.items
        .map((each) => (each.id === id ? changed : each))
        .filter((each) => each.archived === this.archived);
      tell({ kind: "session", session: id });
    } catch (error) {
      notices.fail(error);
    }
  }

  remove(session: Session): void {
    const at = this.items.indexOf(session);
    const open = route.session === session.id;
    this.items = this.items.filter((each) => each.id !== session.id);
    if (open) route.chat(null);
    this.#going.set(
      session.id,
      setTimeout(() => this.#delete(session.id), UNDO_SECONDS * 1000),
    );
    const undo = () => {
      clearTimeout(this.#going.get(session.id));
      this.#going.delete(session.id);
      this.items = [...this.items.slice(0, at), session, ...this.items.slice(at)];
      if (open) route.chat(session.id);
      notices.drop(notice);
    };
    const notice = notices.say(
      t("deleted", { title: session.title ?? t("untitled") }),
      { label: t("undo"), run: undo },
      "plain",
      UNDO_SECONDS,
    );
  }

  async #delete(id: string, keepalive = false): Promise<void> {
    try {
      await send("DELETE", `/sessions/${encodeURIComponent(id)}`, { keepalive });
      tell({ kind: "removed", session: id });
    } catch (error) {
      notices.fail(error);
      this.#going.delete(id);
      await this.load();
    }
    this.#going.delete(id);
  }

  #finish(): void {
    for (const [id, waiting] of this.#going) {
      clearTimeout(waiting);
      this.#delete(id, true);
    }
  }

  #page(query: Record<string, string | number | null>): Promise<{ items: Session[]; next_cursor: string | null }> {
    return get("/sessions", { archived: this.archived, ...query });
  }

  #visible(items: Session[]): Session[] {
    return items
      .filter((each) => !this.#going.has(each.id))
      .map((each) => (each.title === null ? { ...each, title: this.#named.get(each.id) ?? null } : each));
  }
}

export const sessions = new Sessions();
