// What a screen reader hears of an answer: paragraph by paragraph once each is whole, never word by word.

import { spoken } from "./sentences";
import type { Shown } from "./shown.svelte";
import { t } from "./words.svelte";

const MOST = 12; // pieces that stay in the page

class Announcer {
  pieces = $state<{ id: number; text: string }[]>([]);
  #turn: Shown | null = null;
  #told = 0;
  #next = 0;

  /** Called with the live turn, or the last one, whenever its text or its state changes. */
  follow(turn: Shown | undefined): void {
    if (!turn?.fresh || turn.crisis) return;
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#told = 0;
      this.#say(t("answering"));
    }
    const asking = turn.state === "asking";
    if (this.#told < 0) {
      if (asking && !turn.response) this.#told = 0; // asked again
      return;
    }
    const paragraphs = turn.response.split(/\n{2,}/);
    const whole = asking ? paragraphs.length - 1 : paragraphs.length;
    for (; this.#told < whole; this.#told += 1) this.#say(spoken(paragraphs[this.#told]!));
    if (asking || turn.state === "waiting") return;
    this.#told = -1;
    if (turn.state === "kept") this.#say(t("answered"));
  }

  #say(text: string): void {
    if (text) this.pieces = [...this.pieces.slice(1 - MOST), { id: this.#next++, text }];
  }
}

export const announcer = new Announcer();
