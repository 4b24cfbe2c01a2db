// The conversations of the sidebar: listed a page at a time, changed in place. A deletion is told to the server only
// after a few seconds, or when the page is left, so that it can be taken back without anything having been lost.

import { call, get, send } from "./api.svelte";
import { spoken } from "./sentences";
import { notices } from "./notices.svelte";
import { route } from "./route.svelte";
import { hear, tell } from "./tabs";
import type { Session } from "./types";
import { t } from "./words.svelte";

const UNDO_SECONDS = 6;
export const PINNED = "pinned"; // a tag, as for topics

export const pinnedIn = (session: Session): boolean => session.tags.includes(PINNED);

class Sessions {
  items = $state<Session[]>([]);
  archived = $state(false);
  loaded = $state(false);
  failed = $state(false);
  cursor = $state<string | null>(null);
  chosen = $state<string[] | null>(null); // several at once; null: not choosing
  #others = $state.raw(new Map<string, Session>()); // opened, but not in the list
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
      const [page, pinned] = await Promise.all([this.#page({ limit }), this.#page({ limit: 50, tag: PINNED })]);
      if (asked !== this.#asked) return;
      const came = new Set(page.items.map((each) => each.id));
      const oldest = page.next_cursor ? page.items.at(-1)?.last_active_at : undefined;
      const older = this.items.filter((each) => oldest && each.last_active_at < oldest && !came.has(each.id));
      const first = pinned.items.filter((each) => !came.has(each.id));
      this.items = this.#visible([...page.items, ...first, ...older.filter((each) => !pinnedIn(each))]);
      if (!older.length) this.cursor = page.next_cursor;
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
    this.chosen = null;
    this.items = [];
    this.loaded = false;
    this.load();
  }

  find(id: string | null): Session | undefined {
    return this.items.find((each) => each.id === id) ?? (id ? this.#others.get(id) : undefined);
  }

  /** Learn of a session that is open but not in the list: an old one, or one of the archive. */
  async learn(id: string): Promise<void> {
    if (this.find(id)) return;
    const found = await get<Session>(`/sessions/${encodeURIComponent(id)}`).catch(() => null);
    if (found) this.#others = new Map(this.#others).set(id, found);
  }

  title(session: Session): string {
    return session.title || spoken(session.opening ?? "") || t("untitled");
  }

  pin(session: Session): Promise<void> {
    const others = session.tags.filter((tag) => tag !== PINNED);
    return this.change(session.id, { tags: pinnedIn(session) ? others : [...others, PINNED] });
  }

  /** A session that has just begun stands in the list at once, before the server is asked for it. */
  begun(id: string, title: string): void {
    this.#named.set(id, title);
    if (this.archived || this.items.some((each) => each.id === id)) return;
    const now = new Date().toISOString();
    this.items = [
      {
        id,
        agent_id: "default",
        title,
        opening: null,
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

  async change(id: string, change: Partial<Pick<Session, "title" | "tags" | "archived" | "document_ids">>): Promise<void> {
    try {
      const changed = await call<Session>("PATCH", `/sessions/${encodeURIComponent(id)}`, { body: change });
      this.items = this.items
        .map((each) => (each.id === id ? changed : each))
        .filter((each) => each.archived === this.archived);
      if (this.#others.has(id)) this.#others = new Map(this.#others).set(id, changed);
      tell({ kind: "session", session: id });
    } catch (error) {
      notices.fail(error);
    }
  }

  /** Take sessions out of the list, and delete them once it is too late for "undo". */
  remove(...gone: Session[]): void {
    const before = this.items;
    const ids = new Set(gone.map((each) => each.id));
    const open = gone.find((each) => each.id === route.session);
    this.items = before.filter((each) => !ids.has(each.id));
    if (open) route.chat(null);
    for (const id of ids) this.#going.set(id, setTimeout(() => this.#delete(id), UNDO_SECONDS * 1000));
    const undo = () => {
      for (const id of ids) {
        clearTimeout(this.#going.get(id));
        this.#going.delete(id);
      }
      this.items = [...before, ...this.items.filter((each) => !before.some((known) => known.id === each.id))];
      if (open) route.chat(open.id);
      notices.drop(notice);
      setTimeout(() => document.querySelector<HTMLElement>(`[data-session="${CSS.escape(gone[0]!.id)}"]`)?.focus());
    };
    const text = gone.length === 1 ? t("deleted", { title: this.title(gone[0]!) }) : t("deletedSome", { count: gone.length });
    const notice = notices.say(text, { label: t("undo"), run: undo }, "plain", UNDO_SECONDS);
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
