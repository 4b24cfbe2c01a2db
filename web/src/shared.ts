// Draws a conversation once, outside the page, and takes its HTML: the same elements as in the page, so whatever a
// message holds stays text.

import { flushSync, mount, unmount } from "svelte";
import Shared from "./parts/Shared.svelte";
import type { Lang } from "./prefs.svelte";
import type { Turn } from "./types";

const STYLE = `:root{color-scheme:light dark}body{max-width:46rem;margin:0 auto;padding:2rem 1rem;font:1rem/1.65 system-ui,sans-serif}
h1{font-size:1.4rem}article{padding:1rem 0;border-top:1px solid #8884}.asked{padding:.5rem 1rem;border-radius:14px;background:#8882;white-space:pre-wrap}
pre,.table{overflow:auto}pre{padding:.8rem;border-radius:8px;background:#8881}code{font-size:.875rem}table{border-collapse:collapse}
td,th{padding:.3rem .8rem;border-bottom:1px solid #8884}blockquote{margin-left:0;padding-left:1rem;border-left:3px solid #8886}
small,figcaption{color:#777}figure{margin:1rem 0}.citation{font-size:.75em;vertical-align:super}button{border:0;background:none;color:inherit;font:inherit}.tool{display:none}`;

export async function page(title: string, turns: Turn[], lang: Lang): Promise<string> {
  const place = document.createElement("div");
  const drawn = mount(Shared, { target: place, props: { title, turns } });
  flushSync();
  for (const button of place.querySelectorAll("button")) {
    const mark = document.createElement("sup");
    mark.textContent = button.matches(".citation") ? button.textContent : "";
    button.replaceWith(mark);
  }
  const body = place.innerHTML.replace(/<!--[\s\S]*?-->/g, "").replace(/ tabindex="0"/g, "");
  await unmount(drawn);
  const name = document.createElement("title");
  name.textContent = title;
  const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`;
  const view = `<meta name="viewport" content="width=device-width, initial-scale=1">`;
  return `<!doctype html><html lang="${lang}"><head><meta charset="utf-8">${policy}${view}${name.outerHTML}<style>${STYLE}</style></head><body>${body}</body></html>\n`;
}
