// The conversation at hand: a run of its turns, longer at either end when asked, and the answer that is being given.
//
// An answer belongs to the server, not to this page: a reload, a second tab or a lost connection take up its stream
// where it is, by the turn's id, which is chosen here before anything is sent.

import { Problem, call, events, get, send, service } from "./api.svelte";
import { composer } from "./composer.svelte";
import { limit } from "./documents.svelte";
import { me } from "./me.svelte";
import { notices } from "./notices.svelte";
import { outbox, post } from "./outbox";
import { passage } from "./passage.svelte";
import { failure, reason } from "./problems";
import { route } from "./route.svelte";
import { sessions } from "./sessions.svelte";
import { Shown, versions, type Row } from "./shown.svelte";
import { hear, tell } from "./tabs";
import type { Turn } from "./types";
import { t } from "./words.svelte";

const PAGE = 60;
const ATTEMPTS = 5;

interface Page {
  items: Turn[];
  next_before: number | null;
  total: number;
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
  temporary = $state(false); // nothing of this conversation is kept, here or on the server
  news = $state(0); // goes up when something may have been learned
  live = $derived(this.turns.find((turn) => turn.state === "asking" || turn.state === "waiting"));
  last = $derived(this.turns.at(-1));
  rows = $derived.by(() => versions(this.turns, this.#chosen));
  #chosen = $state.raw(new Map<string, number>());
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
      this.#sendWaiting();
    });
  }

  /** Show a session from its end, or around a turn. */
  async open(session: string | null, turn: number | null, again = false): Promise<void> {
    if (session === this.session && !again) {
      if (turn === null && !(this.temporary && this.turns.length)) return;
      if (turn !== null && this.turns.some((each) => each.number === turn)) {
        this.#show(turn);
        return;
      }
    }
    this.#leave();
    this.session = session;
    this.temporary = false;
    if (!again) composer.open(session);
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
      if (turn !== null) this.#show(turn);
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

  async ask(query: string, more: { understoodAs?: string; againOf?: string } = {}): Promise<void> {
    if (this.live || !query.trim()) return;
    if (!this.atEnd) await this.open(this.session, null, true);
    const shown = new Shown(newId(), query.trim(), new Date().toISOString());
    shown.understoodAs = more.understoodAs ?? "";
    shown.againOf = more.againOf ?? "";
    this.turns = [...this.turns, shown];
    this.total += 1;
    const row = this.rows.at(-1);
    if (row && row.versions.length > 1) this.choose(row, row.versions.length - 1);
    await this.#send(shown);
  }

  /** Ask the same again: an unanswered turn is answered, an answered one gets a new version. */
  async again(turn: Shown): Promise<void> {
    if (turn.state === "kept") {
      const againOf = this.temporary ? "" : turn.id;
      await this.ask(turn.query, { understoodAs: turn.understoodAs || turn.standalone, againOf });
    } else if (!this.live) await this.#send(turn);
  }

  /** Show another version of an answer. */
  choose(row: Row, at: number): void {
    this.#chosen = new Map(this.#chosen).set(row.id, at);
  }

  /** End the answer that is on its way, also before its first word; take back a question that waits. */
  async stop(): Promise<void> {
    const live = this.live;
    if (!live || live.stopping) return;
    if (live.state === "waiting") {
      outbox.drop(live.id);
      live.fail(t("notSent"));
      return;
    }
    live.stopping = true;
    // A stop may overtake its question on the way.
    for (let tries = 0; tries < 5 && live.state === "asking"; tries += 1) {
      const path = `/chat/${encodeURIComponent(live.id)}/stop`;
      const told = await call<{ stopped: boolean }>("POST", path).catch((error) => notices.fail(error));
      if (!told || told.stopped) break;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    live.stopping = live.state === "asking" && !live.response;
  }

  /** Say whether an answer helped; the importance of its topic follows. */
  async rate(turn: Shown, helpful: boolean): Promise<void> {
    const was = turn.helpful;
    turn.helpful = helpful;
    try {
      await call("POST", `${this.#path(this.session!)}/${turn.number}/feedback`, { body: { helpful } });
      this.news += 1;
    } catch (error) {
      turn.helpful = was;
      notices.fail(error);
    }
  }

  async #send(shown: Shown): Promise<void> {
    shown.begin();
    const { id, query, understoodAs, againOf } = shown;
    if (this.temporary) {
      const history = this.turns.filter((turn) => turn.state === "kept").slice(-50).map((turn) => ({ query: turn.query, response: turn.response }));
      const body = { query, turn_id: id, understood_as: understoodAs, model: me.model || undefined, stream: true, temporary: true, history };
      await this.#follow(shown, () => send("POST", "/chat", { body, signal: this.#following.signal }));
      return;
    }
    const documents = this.session ? [] : limit.take();
    outbox.put({ id, session: this.session, query, understoodAs, againOf, documents, model: me.model });
    await this.#follow(shown, () => post(id, this.#following.signal));
  }

  /** The last turn is open: it was asked elsewhere, and its answer may be on its way. */
  #followOpen(): void {
    const open = this.turns.at(-1);
    if (open?.state === "open" && !outbox.find(open.id)) this.#resume(open);
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

  /** Questions of this conversation that the server may not have: sent before a reload, or while it was away. */
  async #pending(): Promise<void> {
    const { signal } = this.#following;
    for (const pending of outbox.of(this.session)) {
      if (signal.aborted || this.live) return;
      let shown = this.turns.find((turn) => turn.id === pending.id);
      if (shown?.state === "kept") {
        outbox.drop(pending.id);
        continue;
      }
      if (!shown) {
        shown = new Shown(pending.id, pending.query, new Date().toISOString());
        shown.understoodAs = pending.understoodAs;
        shown.againOf = pending.againOf;
        this.turns = [...this.turns, shown];
      }
      await this.#take(shown);
    }
  }

  /** Follow the answer where it is, or ask for it if the server never got the question. */
  async #take(shown: Shown): Promise<void> {
    shown.begin();
    await this.#follow(shown, () =>
      this.#stream(shown, 0).catch((error) => {
        if (!(error instanceof Problem) || error.status !== 404) throw error;
        return post(shown.id, this.#following.signal);
      }),
    );
  }

  /** The server is back: send what waited, here and in other conversations. */
  async #sendWaiting(): Promise<void> {
    const waiting = this.turns.find((turn) => turn.state === "waiting");
    if (waiting) await this.#take(waiting);
    for (const pending of outbox.all()) {
      if (pending.session === this.session) continue;
      try {
        for await (const event of events(await post(pending.id))) if (event.name === "start") break;
        outbox.drop(pending.id);
        sessions.load();
      } catch (error) {
        if (error instanceof Problem && error.status) outbox.drop(pending.id);
      }
    }
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
          } else {
            if (event.name === "error") show();
            this.#happened(shown, event.name, event.data);
          }
        }
        if (shown.state === "asking") throw new Error("the stream ended early");
      } catch (error) {
        if (signal.aborted) return;
        show();
        if (error instanceof Problem && error.status > 0) {
          outbox.drop(shown.id);
          shown.fail(reason(error));
          if (error.status === 404) shown.state = lost;
        } else if (!seen || attempt >= ATTEMPTS) {
          if (!this.temporary && (outbox.find(shown.id) || !seen)) shown.state = "waiting";
          else shown.fail(reason(error));
        } else await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** attempt));
      }
    }
  }

  #happened(shown: Shown, name: string, data: any): void {
    if (name === "start") {
      outbox.drop(shown.id);
      this.#placed(data.session_id, shown);
    } else if (name === "understood") {
      shown.standalone = data.standalone;
      shown.references = data.references;
    } else if (name === "clarification") shown.clarification = data;
    else if (name === "crisis") shown.crisis = data;
    else if (name === "sources") {
      shown.sources = data.data;
      passage.remember(data.data);
    } else if (name === "error") {
      shown.fail(failure(data));
      outbox.drop(shown.id);
    } else if (name === "done") {
      outbox.drop(shown.id);
      this.#placed(data.session_id, shown);
      shown.finish(data);
      passage.remember(shown.sources);
      if (this.temporary) return;
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
    if (this.temporary) return;
    if (this.session === session) {
      tell({ kind: "session", session });
      return;
    }
    this.session = session;
    composer.named(session);
    this.gone = false;
    const title = shown.query.slice(0, 60);
    sessions.begun(session, title);
    if (route.view === "chat") route.name(session);
    tell({ kind: "session", session, title });
  }

  /** Bring a turn into view, and among its versions to the front. */
  #show(number: number): void {
    const row = this.rows.find((each) => each.versions.some((turn) => turn.number === number));
    if (row) this.choose(row, row.versions.findIndex((turn) => turn.number === number));
    this.jump = number;
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
