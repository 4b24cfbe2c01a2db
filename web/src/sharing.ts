// A conversation as one HTML file to read: no script in it, nothing from elsewhere. What draws it is loaded when it is asked for.

import { get } from "./api.svelte";
import { notices } from "./notices.svelte";
import { prefs } from "./prefs.svelte";
import type { Session, Turn } from "./types";

const PAGE = 200;

export async function share(session: Session, title: string): Promise<void> {
  try {
    const [turns, { page }] = await Promise.all([all(session.id), import("./shared")]);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([await page(title, turns, prefs.lang)], { type: "text/html" }));
    link.download = `${title.replace(/[^\p{L}\p{N} _-]/gu, "").trim().slice(0, 60) || "ricordo"}.html`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  } catch (error) {
    notices.fail(error);
  }
}

async function all(id: string): Promise<Turn[]> {
  const found: Turn[] = [];
  for (;;) {
    const query = { limit: PAGE, after: found.at(-1)?.turn_number ?? 0 };
    const page = await get<{ items: Turn[] }>(`/sessions/${encodeURIComponent(id)}/messages`, query);
    found.push(...page.items);
    if (page.items.length < PAGE) return found;
  }
}
