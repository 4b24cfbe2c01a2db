// A turn as the page shows it: a kept one from the server's history, or one whose answer is still on its way.

import type { ChatResponse, Clarification, Crisis, Offered, Reference, Turn } from "./types";

export type State = "kept" | "asking" | "open" | "failed";

export class Shown {
  readonly id: string;
  readonly query: string;
  readonly created_at: string;
  number = $state<number | null>(null);
  state = $state<State>("kept");
  response = $state("");
  standalone = $state("");
  references = $state.raw<Reference[]>([]);
  clarification = $state.raw<Clarification | null>(null);
  crisis = $state.raw<Crisis | null>(null);
  sources = $state.raw<Offered[]>([]);
  cited = $state.raw<string[]>([]);
  degraded = $state.raw<string[]>([]);
  stopped = $state(false);
  answerer = $state("");
  problem = $state("");
  archived = false;
  damage = "";
  understoodAs = "";

  constructor(id: string, query: string, created_at: string) {
    this.id = id;
    this.query = query;
    this.created_at = created_at;
  }

  static kept(turn: Turn): Shown {
    const shown = new Shown(turn.id, turn.query, turn.created_at);
    const known = turn.metadata;
    shown.number = turn.turn_number;
    shown.state = turn.failure ? "failed" : turn.open ? "open" : "kept";
    shown.problem = turn.failure?.message ?? "";
    shown.response = turn.response ?? "";
    shown.standalone = text(known.standalone);
    shown.cited = turn.chunk_ids;
    shown.stopped = known.stopped === true;
    shown.answerer = text(known.answerer);
    shown.archived = turn.archived;
    shown.damage = turn.damage;
    if (Array.isArray(known.references)) shown.references = known.references as Reference[];
    if (known.intent === "crisis") shown.crisis = { tier: 0, category: "", notice: "", helplines: [] };
    if (Array.isArray(known.clarification)) {
      const options = known.clarification.map((name) => ({ label: text(name), text: text(name) }));
      shown.clarification = { question: shown.response, options };
    }
    return shown;
  }

  /** Everything before the first word of the answer. */
  begin(): void {
    this.state = "asking";
    this.response = "";
    this.problem = "";
    this.stopped = false;
  }

  finish(done: ChatResponse): void {
    const known = done.metadata;
    this.response = done.message;
    this.number = known.turn_number ?? this.number;
    this.standalone = known.standalone ?? this.standalone;
    this.references = known.references ?? this.references;
    this.clarification = known.clarification ?? this.clarification;
    this.crisis = known.crisis ?? this.crisis;
    if (done.data.length) this.sources = done.data;
    this.cited = known.citations ?? this.cited;
    this.degraded = known.degraded ?? [];
    this.stopped = known.stopped ?? false;
    this.answerer = known.answerer ?? "";
    this.state = "kept";
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
