// Which sentence a citation stands for: in the answer the one before its mark, in the source the one that shares most
// words with it.

const END = /[.!?…]["»”)]?\s+(?=\S)/g;

/** The sentences of a text, which together are the text. */
export function sentences(text: string): string[] {
  const found: string[] = [];
  let from = 0;
  for (const match of text.matchAll(END)) {
    found.push(text.slice(from, match.index + match[0].length));
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push(text.slice(from));
  return found;
}

const words = (text: string): Set<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []);

/** The place of the sentence that is closest to what was said, or -1 where none shares two words with it. */
export function closest(found: string[], said: string): number {
  const wanted = words(said);
  let best = -1;
  let most = 0;
  found.forEach((sentence, at) => {
    const own = words(sentence);
    const shared = [...own].filter((word) => wanted.has(word)).length;
    const score = shared / Math.sqrt(own.size || 1);
    if (shared >= 2 && score > most) {
      best = at;
      most = score;
    }
  });
  return best;
}

/** The ranges of an answer's sentences that cite a source, up to the marks of the citation. */
export function citing(answer: Element, id: string): Range[] {
  const marks = [...answer.querySelectorAll<HTMLElement>("[data-source]")].filter((mark) => mark.dataset.source === id);
  return marks.map((mark) => {
    const block = mark.closest("p, li, td, th, h3, h4, h5, h6, blockquote") ?? answer;
    const range = document.createRange();
    range.selectNodeContents(block);
    range.setEndBefore(mark);
    const before = range.toString();
    const last = sentences(before.trimEnd()).at(-1) ?? "";
    let skip = before.trimEnd().length - last.length;
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const length = node.nodeValue!.length;
      if (skip < length) {
        range.setStart(node, skip);
        break;
      }
      skip -= length;
    }
    return range;
  });
}

/** Light up what cites a source, or nothing. */
export function light(answer: Element | null, id: string | null): void {
  if (!("highlights" in CSS)) return;
  if (answer && id) CSS.highlights.set("cited", new Highlight(...citing(answer, id)));
  else CSS.highlights.delete("cited");
}
