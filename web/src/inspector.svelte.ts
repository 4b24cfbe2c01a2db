// Which part of the memory is shown beside the chat, and for which turn.

import { prefs } from "./prefs.svelte";

export const TABS = ["live", "context", "topics", "facts", "profile", "summaries", "privacy"] as const;
export type Tab = (typeof TABS)[number];

class Inspector {
  tab = $state<Tab>("live");
  turn = $state<number | null>(null);
  wanted = $state<string | null>(null); // the id of a fact or topic to bring into view

  /** Show what was sent for a turn, and why. */
  explain(turn: number): void {
    this.turn = turn;
    this.tab = "context";
    prefs.set({ inspector: true });
  }

  /** Show one fact or topic. */
  show(tab: "facts" | "topics", id: string): void {
    this.tab = tab;
    this.wanted = id;
    prefs.set({ inspector: true });
  }

  /** An attachment: the card of the thing that was asked for comes into view and takes the focus. */
  card = (id: string) => (node: HTMLElement) => {
    if (this.wanted !== id) return;
    this.wanted = null;
    node.tabIndex = -1;
    node.scrollIntoView({ block: "nearest" });
    node.focus({ preventScroll: true });
  };

  toggle(): void {
    prefs.set({ inspector: !prefs.inspector });
  }
}

export const inspector = new Inspector();
