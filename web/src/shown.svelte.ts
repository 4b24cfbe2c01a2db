// A turn as the page shows it: a kept one from the server's history, or one whose answer is still on its way.

import { failure } from "./problems";
import type { ChatResponse, Clarification, Crisis, Offered, Recalled, Reference, Turn } from "./types";

export type State = "kept" | "asking" | "waiting" | "open" | "failed";

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
  recalled = $state.raw<Recalled[]>([]);
  topic = $state<string | null>(null);
  degraded = $state.raw<string[]>([]);
  stopped = $state(false);
  answerer = $state("");
  problem = $state("");
  fresh = false; // it happened while the page was looking
  stopping = $state(false);
  helpful = $state<boolean | null>(null);
  againOf = "";
  earlier: Shown[] = []; // answers of the same turn that later ones replaced
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
    if (turn.failure) shown.problem = failure({ cause: turn.failure.cause, detail: turn.failure.message });
    shown.helpful = turn.helpful;
    shown.againOf = text(known.again_of);
    shown.response = turn.response ?? "";
    shown.standalone = text(known.standalone);
    shown.cited = turn.chunk_ids;
    shown.stopped = known.stopped === true;
    if (Array.isArray(known.degraded)) shown.degraded = known.degraded.map(text);
    shown.answerer = text(known.answerer);
    shown.archived = turn.archived;
    shown.topic = turn.topic_id;
    shown.recalled = recalled(known);
    shown.damage = turn.damage;
    if (Array.isArray(known.references)) shown.references = known.references as Reference[];
    if (known.intent === "crisis") shown.crisis = { tier: 0, category: "", notice: "", helplines: helplines(known.helplines, shown.response) };
    if (Array.isArray(known.clarification)) {
      const options = known.clarification.map((name) => ({ label: text(name), text: text(name) }));
      shown.clarification = { question: shown.response, options };
    }
    if (Array.isArray(known.earlier_versions)) {
      shown.earlier = known.earlier_versions.map((response, at) => {
        const before = new Shown(`${turn.id}#${at}`, turn.query, turn.created_at);
        before.response = text(response);
        return before;
      });
    }
    return shown;
  }

  /** Everything before the first word of the answer. */
  begin(): void {
    this.state = "asking";
    this.response = "";
    this.problem = "";
    this.stopped = this.stopping = false;
    this.fresh = true;
  }

  fail(problem: string): void {
    this.problem = problem;
    this.state = "failed";
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
    this.recalled = recalled(known);
    this.stopped = known.stopped ?? false;
    this.answerer = known.answerer ?? "";
    this.state = "kept";
  }
}

/** The numbers to call that a turn keeps; one from before they were kept has them in its text alone. */
function helplines(kept: unknown, response: string): Crisis["helplines"] {
  if (Array.isArray(kept)) return kept as Crisis["helplines"];
  const found = [...response.matchAll(/\b(\d{3,6})\b((?: [A-Z]\w+){0,3})/g)];
  return found.map(([, number, name]) => ({ number: number!, name: name!.trim() }));
}

/** What an answer quotes of the past, or else what was sent along with the question. */
function recalled(known: Record<string, any>): Recalled[] {
  return known.memory_sources?.length ? known.memory_sources : (known.recalled ?? []);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A place in the conversation: a turn, and the other answers to the same question right before it. */
export interface Row {
  id: string;
  versions: Shown[];
  at: number;
  turn: Shown;
}

/** The turns, with the answers to one question that follow each other as versions of one. */
export function versions(turns: Shown[], chosen: Map<string, number>): Row[] {
  const groups: Shown[][] = [];
  for (const turn of turns) {
    const before = groups.at(-1);
    if (turn.againOf && before?.some((each) => each.id === turn.againOf)) before.push(turn);
    else groups.push([...turn.earlier, turn]);
  }
  return groups.map((group) => {
    const id = group[0]!.id;
    const at = Math.min(chosen.get(id) ?? group.length - 1, group.length - 1);
    return { id, versions: group, at, turn: group[at]! };
  });
}
