// What each turn of the conversation at hand did to memory: facts learned from it, a topic begun or resumed, messages
// recalled for it. Facts and topics are derived beside the chat, so they are asked for again whenever news came.

import { get } from "./api.svelte";
import { sessions } from "./sessions.svelte";
import type { Shown } from "./shown.svelte";
import { talk } from "./talk.svelte";
import type { Fact, Recalled, Topic } from "./types";

export interface Change {
  turn: Shown;
  learned: Fact[];
  topic: Topic | null;
  recalled: Recalled[];
}

class Changes {
  known = $state.raw<Fact[]>([]);
  topics = $state.raw<Topic[]>([]);
  #learned = $derived.by(() => {
    const turns = new Map<string, Fact[]>();
    for (const fact of this.known)
      for (const source of fact.sources) {
        const turn = source.message_id.replace(/:[^:]*$/, "");
        turns.set(turn, [...(turns.get(turn) ?? []), fact]);
      }
    return turns;
  });
  #topics = $derived.by(() => {
    const byNumber = new Map(this.topics.flatMap((topic) => topic.turns.map((number) => [number, topic.id] as const)));
    return new Map(talk.turns.map((turn) => [turn.id, (turn.number && byNumber.get(turn.number)) || turn.topic]));
  });
  /** The turns that began a topic or came back to one. */
  #turned = $derived.by(() => {
    const turned = new Map<string, Topic>();
    let before: string | null = null;
    for (const turn of talk.turns) {
      const id = this.#topics.get(turn.id) ?? null;
      const topic = id && id !== before ? this.topics.find((each) => each.id === id) : null;
      // The turn before the first one in the page is not known; a topic that begins here is.
      const first = turn === talk.turns[0] && (turn.number ?? 1) > 1;
      if (topic && (!first || topic.turns[0] === turn.number)) turned.set(turn.id, topic);
      if (id) before = id;
    }
    return turned;
  });

  async load(): Promise<void> {
    const session = talk.session;
    const agent_id = sessions.find(session)?.agent_id ?? "default";
    const [facts, topics] = await Promise.all([
      get<{ items: Fact[] }>("/facts", { agent_id, all: true }).catch(() => null),
      session === null ? { items: [] } : get<{ items: Topic[] }>(`/sessions/${encodeURIComponent(session)}/topics`).catch(() => null),
    ]);
    if (talk.session !== session) return;
    if (facts) this.known = facts.items;
    if (topics) this.topics = topics.items;
  }

  of(turn: Shown): Change {
    const learned = turn.state === "kept" ? (this.#learned.get(turn.id) ?? []) : [];
    return { turn, learned, topic: this.#turned.get(turn.id) ?? null, recalled: turn.state === "kept" ? turn.recalled : [] };
  }

  /** Every turn that changed something, newest first. */
  all = $derived.by(() =>
    talk.turns
      .map((turn) => this.of(turn))
      .filter((each) => each.learned.length || each.topic || each.recalled.length)
      .reverse(),
  );
}

export const changes = new Changes();
