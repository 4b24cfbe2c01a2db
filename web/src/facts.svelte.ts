// What is known of the person, and what they do about it: add, edit, pin, forget. A fact that is forgotten leaves the list
// at once; the server is told some seconds later, or when the page is left, so that it can be taken back until then.

import { call, get, send } from "./api.svelte";
import { notices, reason } from "./notices.svelte";
import { sessions } from "./sessions.svelte";
import { talk } from "./talk.svelte";
import type { Fact } from "./types";
import { t } from "./words.svelte";

const UNDO_SECONDS = 6;

class Facts {
  items = $state.raw<Fact[] | null>(null);
  old = $state(false);
  problem = $state("");
  #going = $state.raw(new Map<string, { agent: string; waiting: ReturnType<typeof setTimeout> }>());
  agent = $derived(sessions.find(talk.session)?.agent_id ?? "default");
  shown = $derived((this.items ?? []).filter((each) => !this.#going.has(each.id)));

  constructor() {
    addEventListener("pagehide", () => {
      for (const id of [...this.#going.keys()]) this.#forget(id, true);
    });
  }

  async load(): Promise<void> {
    try {
      this.items = (await get<{ items: Fact[] }>("/facts", { agent_id: this.agent, all: this.old })).items;
      this.problem = "";
    } catch (error) {
      this.problem = reason(error);
    }
  }

  /** Write a new fact, or new words for a known one; whether it was kept. */
  async write(text: string, fact?: Fact, kind?: string): Promise<boolean> {
    const query = { agent_id: this.agent };
    try {
      if (fact) await call("PATCH", `/facts/${encodeURIComponent(fact.id)}`, { body: { text }, query });
      else await call("POST", "/facts", { body: kind ? { text, kind } : { text }, query });
    } catch (error) {
      notices.fail(error);
      return false;
    }
    await this.load();
    talk.news += 1;
    return true;
  }

  /** Put a fact first in what is told, or no longer. */
  async pin(fact: Fact): Promise<void> {
    try {
      await call("PATCH", `/facts/${encodeURIComponent(fact.id)}`, { body: { pinned: !fact.pinned }, query: { agent_id: this.agent } });
      await this.load();
      talk.news += 1;
    } catch (error) {
      notices.fail(error);
    }
  }

  forget(fact: Fact): void {
    const waiting = setTimeout(() => this.#forget(fact.id), UNDO_SECONDS * 1000);
    this.#going = new Map(this.#going).set(fact.id, { agent: this.agent, waiting });
    const undo = () => {
      this.#take(fact.id);
      notices.drop(notice);
    };
    const notice = notices.say(t("forgettingFact", { text: fact.sentence }), { label: t("undo"), run: undo }, "plain", UNDO_SECONDS);
  }

  /** Off the list of those that go, which names its agent. */
  #take(id: string): string | undefined {
    const going = this.#going.get(id);
    if (!going) return undefined;
    clearTimeout(going.waiting);
    const left = new Map(this.#going);
    left.delete(id);
    this.#going = left;
    return going.agent;
  }

  async #forget(id: string, keepalive = false): Promise<void> {
    const agent_id = this.#going.get(id)?.agent;
    if (!agent_id) return;
    clearTimeout(this.#going.get(id)!.waiting);
    try {
      await send("DELETE", `/facts/${encodeURIComponent(id)}`, { query: { agent_id }, keepalive });
    } catch (error) {
      notices.fail(error);
    }
    this.items = (this.items ?? []).filter((each) => each.id !== id);
    this.#take(id);
    talk.news += 1;
  }
}

export const facts = new Facts();
