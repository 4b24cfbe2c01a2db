// Markdown as a tree of tokens, never as HTML: whatever a message holds becomes text nodes and a few known elements,
// so a tag in it is shown, not obeyed. Citations, ids in square brackets, are tokens of their own.

import { Marked, type Token, type Tokens } from "marked";

export interface CitationToken {
  type: "citation";
  raw: string;
  ids: string[];
}

const BRACKET = /^\[(?:(?:fonti|fonte|sources?|cit|refs?|chunks?|id)\s*[:=]\s*)?([^\][\n]{1,400})\](?!\()/i;
const ID = /^(?:\d{1,6}|[\w.:#/\-@+~%]{2,255})$/u;

const reader = new Marked({
  gfm: true,
  extensions: [
    {
      name: "citation",
      level: "inline",
      start: (source) => source.indexOf("["),
      tokenizer(source): Tokens.Generic | undefined {
        const match = BRACKET.exec(source);
        if (!match) return undefined;
        const ids = match[1]!.split(/[,;]\s*/).map((id) => id.trim());
        return ids.every((id) => ID.test(id)) ? { type: "citation", raw: match[0], ids } : undefined;
      },
    },
  ],
});

/** The blocks of a text. Those that `before` has already are its very objects, so that only new ones are drawn. */
export function blocks(text: string, before: Token[]): Token[] {
  return reader.lexer(text).map((token, at) => (before[at]?.raw === token.raw ? before[at]! : token));
}

/** A link's address if it is one that may be followed, else null. */
export function safeLink(href: string): string | null {
  try {
    const address = new URL(href, "https://nowhere.invalid");
    if (address.hostname === "nowhere.invalid") return null;
    return ["http:", "https:", "mailto:"].includes(address.protocol) ? address.href : null;
  } catch {
    return null;
  }
}

const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: "\u00a0", copy: "©", hellip: "…" };

/** Entities as the characters they stand for. */
export function plain(text: string): string {
  return text.replace(/&(?:#(\d{1,6})|#x([\da-f]{1,5})|(\w{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name) return NAMED[name.toLowerCase()] ?? whole;
    const code = decimal ? Number(decimal) : parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
