// Text of memory as people read it: without marks of Markdown and ids of passages, cut at a word, ending like a sentence.

export function plainText(text: string, most = Infinity): string {
  const clean = text
    .replace(/\s*\[(?:[^\][\s]*#[^\][\s]*)(?:,\s*[^\][\s]*)*\]/g, "")
    .replace(/(\*\*|__|`|~~)(?=\S)|(?<=\S)(\*\*|__|`|~~)/g, "")
    .replace(/^\s*(?:#{1,6}|[-*+]|\d+[.)])\s+/gm, "")
    .replace(/\s+/g, " ")
    .trim();
  if (clean.length <= most) return clean;
  const cut = clean.slice(0, most - 1);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), most / 2)).replace(/[\s,;:.]+$/, "")}…`;
}

/** A whole sentence: begins with a capital letter and ends with a mark. */
export function sentence(text: string): string {
  const clean = plainText(text);
  if (!clean) return "";
  const begun = clean.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());
  return /[.!?…][»”")]?$/.test(begun) ? begun : `${begun}.`;
}
