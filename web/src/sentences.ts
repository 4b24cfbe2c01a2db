// Text as people read it: without marks of Markdown and ids of passages, cut at a word, ending like a sentence.

/** The words without marks, line by line: for a label, or to be read aloud. */
export function spoken(text: string): string {
  return text
    .replace(/```\w*|~~~\w*/g, "")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\s*\[[^\]\s]{3,}(?:,\s*[^\][\s]+)*\]/g, "")
    .replace(/^\s*\|?[\s:|-]{3,}\|?\s*$/gm, "")
    .replace(/\*\*|(?<![\p{L}\d])__|__(?![\p{L}\d])|~~|`/gu, "")
    .replace(/(^|[\s(«"])[*_](?=\S)|(?<=\S)[*_](?=[\s).,;:!?»"]|$)/gm, "$1")
    .replace(/^\s*(?:#{1,6}|>|[-*+](?: \[[ x]\])?)\s+/gm, "")
    .replace(/\s*\|\s*/g, " ")
    .replace(/[ \t]+/g, " ")
    .trim();
}

/** The words on one line, cut at a word. */
export function plainText(text: string, most = Infinity): string {
  const clean = spoken(text).replace(/^\s*\d+[.)]\s+/gm, "").replace(/\s+/g, " ");
  if (clean.length <= most) return clean;
  const cut = clean.slice(0, most - 1);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), most / 2)).replace(/[\s,;:.]+$/, "")}…`;
}

const IDS = /(?:,\s*)?[\w.]+-[\w.-]*#\w+/g; // of passages

/** A whole sentence: begins with a capital letter and ends with a mark. Empty if it is a label and ids alone. */
export function sentence(text: string): string {
  const clean = plainText(text.replace(IDS, "")).replace(/[\s,;:]+$/, "");
  if (!clean || (clean.split(" ").length === 1 && text.search(IDS) >= 0)) return "";
  const inner = clean.replace(/««([^«»]*)»/g, "«“$1”").replace(/““([^“”]*)”/g, "“‘$1’"); // a quotation that begins with one
  const begun = inner.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());
  return /[.!?…][»”")]?$/.test(begun) ? begun : `${begun}.`;
}
