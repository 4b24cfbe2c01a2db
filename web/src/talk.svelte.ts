// The conversation at hand: a run of its turns, longer at either end when asked, and the answer that is being given.
//
// An answer belongs to the server, not to this page: a reload, a second tab or a lost connection take up its stream
// where it is, by the turn's id, which is chosen here before anything is sent.

import { Problem, events, get, send, service } from "./api.svelte";
import { notices, reason } from "./notices.svelte";
import { passage } from "./passage.svelte";
import { route } from "./route.svelte";
import { sessions } from "./sessions.svelte";
import { Shown } from "./shown.svelte";
import { hear, tell } from "./tabs";
import type { Turn } from "./types";

const PAGE = 60;
const PENDING = "ricordo-pending";
const ATTEMPTS = 5;

interface Page {
  items: Turn[];
  next_before: number | null;
  total: number;
}

interface Pending {
  id: string;
  session: string | null;
  query: string;
  understoodAs: string;
}

class Talk {
  session = $state<string | null>(null);
  turns = $state.raw<Shown[]>([]);
  total = $state(0);
  atBeginning = $state(true);
  atEnd = $state(true);
  loading = $state(false);
  gone = $state(false);
  failed = $state("");
  jump = $state<number | null>(null);
  news = $state(0); // goes up when something may have been learned
  live = $derived(this.turns.find((turn) => turn.state === "asking"));
  last = $derived(this.turns.at(-1));
  #following = new AbortController();
  #extending = false;

  constructor() {
    hear((news) => {
      if (news.kind === "session" && news.session === this.session) this.refresh();
      if (news.kind === "removed" && news.session === this.session) route.chat(null);
      if (news.kind === "erased") location.reload();
    });
    service.onBack(() => {
      if (this.failed) this.open(this.session, null, true);
      else if (!this.live) this.refresh();
    });
  }

  /** Show a session from its end, or around a turn. */
  async open(session: string | null, turn: number | null, again = false): Promise<void> {
    if (session === this.session && !again) {
      if (turn === null) return;
      if (this.turns.some((each) => each.number === turn)) {
        this.jump = turn;
        return;
      }
    }
    this.#leave();
    this.session = session;
    this.gone = false;
    this.failed = "";
    this.turns = [];
    this.total = 0;
    this.atBeginning = this.atEnd = true;
    if (session !== null) await this.#load(session, turn);
    await this.#pending();
  }

  async #load(session: string, turn: number | null): Promise<void> {
    this.loading = true;
    try {
      const before = turn === null ? undefined : turn + PAGE / 2;
      const page = await get<Page>(this.#path(session), { limit: PAGE, before });
      if (this.session !== session) return;
      this.turns = page.items.map(Shown.kept);
      this.total = page.total;
      this.atBeginning = page.next_before === null;
      this.atEnd = turn === null || (await this.#isLast(session));
      if (turn !== null) this.jump = turn;
      if (this.atEnd) this.#followOpen();
    } catch (error) {
      if (this.session !== session) return;
      if (error instanceof Problem && (error.status === 404 || error.status === 422)) this.gone = true;
      else this.failed = reason(error);
    } finally {
      if (this.session === session) this.loading = false;
    }
  }

  async #isLast(session: string): Promise<boolean> {
    const number = this.turns.at(-1)?.number ?? 0;
    return (await get<Page>(this.#path(session), { limit: 1, after: number })).items.length === 0;
  }

  /** Longer towards the beginning; how many turns came. */
  async earlier(): Promise<number> {
    const first = this.turns[0]?.number;
    if (this.atBeginning || !first || !this.session) return 0;
    return this.#extend({ limit: PAGE * 2, before: first }, (page, came) => {
      this.turns = [...came, ...this.turns];
      this.atBeginning = page.next_before === null;
    });
  }

  /** Longer towards the end. */
  async later(): Promise<number> {
    const last = this.turns.at(-1)?.number;
    if (this.atEnd || !last || !this.session) return 0;
    return this.#extend({ limit: PAGE * 2, after: last }, (_, came) => {
      this.turns = [...this.turns, ...came];
      this.atEnd = came.length < PAGE * 2;
      if (this.atEnd) this.#followOpen();
    });
  }

  async #extend(query: Record<string, number>, add: (page: Page, came: Shown[]) => void): Promise<number> {
    if (this.#extending) return 0;
    this.#extending = true;
    const session = this.session!;
    try {
      const page = await get<Page>(this.#path(session), query);
      if (this.session !== session) return 0;
      const known = new Set(this.turns.map((turn) => turn.id));
      const came = page.items.filter((turn) => !known.has(turn.id)).map(Shown.kept);
      add(page, came);
      return came.length;
    } catch {
      return 0;
    } finally {
      this.#extending = false;
    }
  }

  /** Turns that came from elsewhere, another tab perhaps. */
  async refresh(): Promise<void> {
    const session = this.session;
    if (!session || !this.atEnd || this.live || this.gone) return;
    const last = this.turns.findLast((turn) => turn.state === "kept")?.number ?? 0;
    const page = await get<Page>(this.#path(session), { limit: PAGE, after: last }).catch(() => null);
    if (!page || this.session !== session || this.live) return;
    const came = page.items.map(Shown.kept);
    const newer = new Set(came.map((turn) => turn.id));
    this.turns = [...this.turns.filter((turn) => !newer.has(turn.id)), ...came];
    this.total = page.total;
    this.#followOpen();
  }

  async ask(query: string, understoodAs = ""): Promise<void> {
    if (this.live || !query.trim()) return;
    if (!this.atEnd) await this.open(this.session, null, true);
    const shown = new Shown(newId(), query.trim(), new Date().toISOString());
    shown.understoodAs = understoodAs;
    this.turns = [...this.turns, shown];
    this.total += 1;
    await this.#send(shown);
  }

  /** Ask the same again: an unanswered turn is answered, an answered one becomes a new turn. */
  async again(turn: Shown): Promise<void> {
    if (turn.state === "kept") await this.ask(turn.query, turn.understoodAs);
    else if (!this.live) await this.#send(turn);
  }

  async stop(): Promise<void> {
    if (this.live) await send("POST", `/chat/${this.live.id}/stop`).catch((error) => notices.fail(error));
  }

  async #send(shown: Shown): Promise<void> {
    shown.begin();
    const pending = { id: shown.id, session: this.session, query: shown.query, understoodAs: shown.understoodAs };
    sessionStorage.setItem(PENDING, JSON.stringify(pending));
    const body = {
      query: shown.query,
      turn_id: shown.id,
      session_id: this.session,
      understood_as: shown.understoodAs,
      stream: true,
    };
    await this.#follow(shown, () => send("POST", "/chat", { body, signal: this.#following.signal }));
  }

  /** The last turn is open: somebody asked it, and its answer may be on its way. */
  #followOpen(): void {
    const open = this.turns.at(-1);
    if (open?.state === "open") this.#resume(open);
  }

  async #resume(shown: Shown): Promise<void> {
    shown.begin();
    await this.#follow(shown, () => this.#stream(shown, 0), "open");
  }

  #stream(shown: Shown, after: number): Promise<Response> {
    return send("GET", `/chat/${encodeURIComponent(shown.id)}/stream`, {
      query: { after },
      signal: this.#following.signal,
    });
  }

  /** A question that was sent just before a reload and has no session yet. */
  async #pending(): Promise<void> {
    const kept = sessionStorage.getItem(PENDING);
    if (!kept || this.live) return;
    const pending = JSON.parse(kept) as Pending;
    if (pending.session !== this.session) return;
    sessionStorage.removeItem(PENDING);
    if (this.turns.some((turn) => turn.id === pending.id)) return;
    const shown = new Shown(pending.id, pending.query, new Date().toISOString());
    shown.understoodAs = pending.understoodAs;
    this.turns = [...this.turns, shown];
    shown.begin();
    await this.#follow(shown, () =>
      this.#stream(shown, 0).catch((error) => {
        if (!(error instanceof Problem) || error.status !== 404) throw error;
        const { id: turn_id, session: session_id, query, understoodAs: understood_as } = pending;
        const body = { query, turn_id, session_id, understood_as, stream: true };
        return send("POST", "/chat", { body, signal: this.#following.signal });
      }),
    );
  }

  async #follow(shown: Shown, begin: () => Promise<Response>, lost: "failed" | "open" = "failed"): Promise<void> {
    const { signal } = this.#following;
    let seen = 0;
    let said = "";
    let frame = 0;
    const show = () => {
      frame = 0;
      if (shown.state === "asking") shown.response = said;
    };
    for (let attempt = 0; shown.state === "asking"; attempt += 1) {
      try {
        const response = await (seen ? this.#stream(shown, seen) : begin());
        for await (const event of events(response)) {
          if (signal.aborted) return;
          seen = event.number || seen + 1;
          attempt = 0;
          if (event.name === "delta") {
            said += event.data.text;
            frame ||= requestAnimationFrame(show);
          } else this.#happened(shown, event.name, event.data);
        }
        if (shown.state === "asking") throw new Error("the stream ended early");
      } catch (error) {
        if (signal.aborted) return;
        const refused = error instanceof Problem && error.status > 0;
        if (refused || !seen || attempt >= ATTEMPTS) {
          shown.response = said;
          shown.problem = reason(error);
          shown.state = refused && error.status === 404 ? lost : "failed";
          if (refused || seen) sessionStorage.removeItem(PENDING);
        } else await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** attempt));
      }
    }
  }

  #happened(shown: Shown, name: string, data: any): void {
    if (name === "start") {
      sessionStorage.removeItem(PENDING);
      this.#placed(data.session_id, shown);
      if (data.degraded?.length) service.notes = data.degraded;
    } else if (name === "understood") {
      shown.standalone = data.standalone;
      shown.references = data.references;
    } else if (name === "clarification") shown.clarification = data;
    else if (name === "crisis") shown.crisis = data;
    else if (name === "sources") {
      shown.sources = data.data;
      passage.remember(data.data);
    } else if (name === "error") {
      shown.problem = data.detail || data.title;
      shown.state = "failed";
      sessionStorage.removeItem(PENDING);
    } else if (name === "done") {
      sessionStorage.removeItem(PENDING);
      this.#placed(data.session_id, shown);
      shown.finish(data);
      passage.remember(shown.sources);
      service.notes = shown.degraded;
      tell({ kind: "session", session: data.session_id });
      // Titles, topics and facts are made beside the chat, a moment later.
      for (const pause of [0, 700, 2500]) setTimeout(() => this.#learned(), pause);
    }
  }

  #learned(): void {
    this.news += 1;
    sessions.load();
  }

  #placed(session: string, shown: Shown): void {
    if (this.session === session) {
      tell({ kind: "session", session });
      return;
    }
    this.session = session;
    this.gone = false;
    const title = shown.query.slice(0, 60);
    sessions.begun(session, title);
    if (route.view === "chat") route.name(session);
    tell({ kind: "session", session, title });
  }

  #leave(): void {
    this.#following.abort();
    this.#following = new AbortController();
  }

  #path(session: string): string {
    return `/sessions/${encodeURIComponent(session)}/messages`;
  }
}

function newId(): string {
  if ("randomUUID" in crypto) return crypto.randomUUID();
  // Only pages served over HTTPS or from this machine have randomUUID.
  const bytes = [...(crypto as Crypto).getRandomValues(new Uint8Array(16))];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const talk = new Talk();
