// What is being written, for each conversation its own draft, which a reload of the tab keeps. A question that is
// edited takes the field for as long as that lasts; the draft comes back after it.

const KEY = "ricordo-drafts";

function drafts(): Record<string, string> {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

class Composer {
  text = $state("");
  editing = $state<string | null>(null); // the turn whose question is edited
  field: HTMLTextAreaElement | null = null;
  #session = "";
  #aside = "";

  /** Go to the draft of a conversation; null is the new one. */
  open(session: string | null): void {
    this.cancel();
    this.#session = session ?? "";
    this.text = drafts()[this.#session] ?? "";
  }

  /** The new conversation got its name: what is being written goes with it. */
  named(session: string): void {
    this.keep("");
    this.#session = session;
    this.keep();
  }

  edit(query: string, turn: string): void {
    if (!this.editing) this.#aside = this.text;
    this.editing = turn;
    this.text = query;
    this.focus();
  }

  /** Leave an edited question; the draft from before is back. */
  cancel(): void {
    if (!this.editing) return;
    this.editing = null;
    this.text = this.#aside;
    this.#aside = "";
  }

  /** What was written was sent. */
  sent(): void {
    if (this.editing) this.cancel();
    else this.text = "";
    this.keep();
  }

  keep(text = this.editing ? this.#aside : this.text): void {
    const all = drafts();
    if (text) all[this.#session] = text;
    else delete all[this.#session];
    sessionStorage.setItem(KEY, JSON.stringify(all));
  }

  focus(): void {
    this.field?.focus();
  }
}

export const composer = new Composer();
