// Which part of the memory is shown beside the chat, and for which turn.

import { prefs } from "./prefs.svelte";

export const TABS = ["context", "topics", "facts", "profile", "summaries", "privacy"] as const;
export type Tab = (typeof TABS)[number];

class Inspector {
  tab = $state<Tab>("context");
  turn = $state<number | null>(null);

  /** Show what was sent for a turn, and why. */
  explain(turn: number): void {
    this.turn = turn;
    this.tab = "context";
    prefs.set({ inspector: true });
  }

  toggle(): void {
    prefs.set({ inspector: !prefs.inspector });
  }
}

export const inspector = new Inspector();
