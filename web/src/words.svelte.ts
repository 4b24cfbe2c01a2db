// Sentences in the language that was chosen; reading one inside a component follows the choice.

import { prefs } from "./prefs.svelte";
import { en } from "./words.en";
import { it } from "./words.it";

export type Word = keyof typeof it;

export function t(word: Word, values: Record<string, string | number> = {}): string {
  const sentence: string = (prefs.lang === "it" ? it : en)[word];
  return sentence.replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (whole, name, one, many) => {
    if (one === undefined) return String(values[name] ?? whole);
    return String(values[name]) === "1" ? one : many; // {count|turn|turns}: one of them, or any other number
  });
}

/** The sentence for a name that the server uses, or the name itself where there is none. */
export function named(prefix: string, name: string): string {
  const word = (prefix + name.charAt(0).toUpperCase() + name.slice(1)) as Word;
  return word in it ? t(word) : name;
}
