// Who is looking at the page, as the server sees them; asked first of all, because it tells whether a key is needed.

import { get, Problem, service } from "./api.svelte";
import { prefs } from "./prefs.svelte";
import type { Me } from "./types";

class Looking {
  who = $state.raw<Me | null>(null);
  wrong = $state(false);
  models = $state.raw<string[]>([]); // those that a question may choose from

  async ask(tried = false): Promise<boolean> {
    try {
      this.who = await get<Me>("/me");
      service.locked = false;
      this.wrong = false;
      return true;
    } catch (error) {
      this.wrong = tried && error instanceof Problem && error.status === 401;
      return false;
    }
  }

  /** Learn which models there are; one alone is no choice. */
  async learnModels(): Promise<void> {
    const found = await get<{ data: { id: string }[] }>("/v1/models").catch(() => ({ data: [] }));
    this.models = found.data.length > 1 ? found.data.map((each) => each.id) : [];
  }

  /** The model that was chosen in this browser, if it is still there; empty: the first. */
  get model(): string {
    return this.models.includes(prefs.model) ? prefs.model : "";
  }

  /** Whose memory is shown. */
  get user(): string {
    return this.who?.user_id ?? (prefs.user || "anonymous");
  }
}

export const me = new Looking();
