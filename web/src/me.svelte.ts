// Who is looking at the page, as the server sees them; asked first of all, because it tells whether a key is needed.

import { get, Problem, service } from "./api.svelte";
import { prefs } from "./prefs.svelte";
import type { Me } from "./types";

class Looking {
  who = $state.raw<Me | null>(null);
  wrong = $state(false);

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

  /** Whose memory is shown. */
  get user(): string {
    return this.who?.user_id ?? (prefs.user || "anonymous");
  }
}

export const me = new Looking();
