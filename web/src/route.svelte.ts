// Where the page stands, as the address says: #/c/SESSION, #/c/SESSION/TURN, #/documents, #/figures, #/timeline; empty is a new chat.

const VIEWS = ["documents", "figures", "timeline"] as const;
export type View = "chat" | (typeof VIEWS)[number];

class Route {
  view = $state<View>("chat");
  session = $state<string | null>(null);
  turn = $state<number | null>(null);
  visits = $state(0); // goes up with every step, also one to where the page stands already

  constructor() {
    this.#read();
    addEventListener("hashchange", () => this.#read());
  }

  go(hash: string): void {
    if (location.hash === hash) this.#read();
    else location.hash = hash;
  }

  chat(session: string | null, turn: number | null = null): void {
    this.go(session ? `#/c/${encodeURIComponent(session)}${turn ? `/${turn}` : ""}` : "#/");
  }

  /** Name the session of the chat at hand without a step in the browser's history. */
  name(session: string): void {
    history.replaceState(null, "", `#/c/${encodeURIComponent(session)}`);
    this.#read();
  }

  #read(): void {
    const [first, second, third] = location.hash.replace(/^#\/?/, "").split("/");
    this.view = VIEWS.find((view) => view === first) ?? "chat";
    this.session = first === "c" && second ? decodeURIComponent(second) : null;
    this.visits += 1;
    this.turn = first === "c" && third && Number(third) > 0 ? Number(third) : null;
  }
}

export const route = new Route();
