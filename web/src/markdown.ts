// Markdown as a tree of tokens, never as HTML: whatever a message holds becomes text nodes and a few known elements,
// so a tag in it is shown, not obeyed. Citations, ids in square brackets, are tokens of their own.

import { Marked, type Token, type Tokens } from "marked";

export interface CitationToken {
  type: "citation";
  raw: string;
  ids: string[];
}

export interface MathToken {
  type: "math";
  raw: string;
  text: string;
  display: boolean;
}

// $…$ is a formula only where prices are not: no space inside its ends, and no digit right after it.
const DISPLAY = /^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])/;
const INLINE = /^(?:\\\(([\s\S]+?)\\\)|\$(?![\s$])((?:\\.|[^\\$\n])*?[^\s\\$])\$(?![\d$]))/;

function math(source: string, pattern: RegExp, display: boolean): MathToken | undefined {
  const match = pattern.exec(source);
  return match ? { type: "math", raw: match[0], text: (match[1] ?? match[2] ?? "").trim(), display } : undefined;
}

const BRACKET = /^\[(?:(?:fonti|fonte|sources?|cit|refs?|chunks?|id)\s*[:=]\s*)?([^\][\n]{1,400})\](?!\()/i;
const ID = /^(?:\d{1,6}|[\w.:#/\-@+~%]{2,255})$/u;

const reader = new Marked({
  gfm: true,
  breaks: true, // a line of a chat is meant as a line: quotes of memory stand one below the other
  extensions: [
    {
      name: "math",
      level: "block",
      start: (source) => source.match(/\n(?:\$\$|\\\[)/)?.index,
      tokenizer: (source): Tokens.Generic | undefined => {
        const found = math(source, DISPLAY, true);
        return found && /^[ \t]*(?:\n|$)/.test(source.slice(found.raw.length)) ? { ...found } : undefined;
      },
    },
    {
      name: "formula",
      level: "inline",
      start: (source) => source.match(/\$|\\[([]/)?.index,
      tokenizer: (source): Tokens.Generic | undefined => {
        const found = math(source, DISPLAY, true) ?? math(source, INLINE, false);
        return found && { ...found };
      },
    },
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
  const found = reader.lexer(text).map((token, at) => (before[at]?.raw === token.raw ? before[at]! : token));
  const open: number[] = []; // the depths of the headings that a heading stands under
  for (const token of found) {
    if (token.type !== "heading") continue;
    while (open.length && open.at(-1)! >= token.depth) open.pop();
    open.push(token.depth);
    Object.assign(token, { level: Math.min(2 + open.length, 6) }); // no level is skipped, whatever was written
  }
  return found;
}

const WORDS = {
  it: /(?<!\p{L})(?:il|lo|la|gli|le|un|una|di|del|della|dei|che|è|non|per|con|sono|come|mi|ti|si|ho|hai|quando|perché|cosa|quali|più|al|nel)(?!\p{L})/giu,
  en: /(?<!\p{L})(?:the|a|an|of|and|to|is|are|that|it|you|for|what|how|my|was|were|with|do|does|this|have|when|why|which|on|your)(?!\p{L})/giu,
};

/** The language of a text, where its small words tell. */
export function language(text: string): "it" | "en" | undefined {
  const some = text.slice(0, 2000);
  const it = some.match(WORDS.it)?.length ?? 0;
  const en = some.match(WORDS.en)?.length ?? 0;
  return it > en ? "it" : en > it ? "en" : undefined;
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
