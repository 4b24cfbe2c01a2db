// Times and sizes as people read them.

import type { Lang } from "./prefs.svelte";

const DAY = 86_400_000;

export type Group = "today" | "yesterday" | "week" | "month" | string;

/** Which heading of the sidebar a moment belongs under: a fixed name, or a month such as "2026-03". */
export function group(moment: string, now: Date): Group {
  const day = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const at = new Date(moment);
  const time = at.getTime();
  if (time >= day) return "today";
  if (time >= day - DAY) return "yesterday";
  if (time >= day - 7 * DAY) return "week";
  if (time >= day - 30 * DAY) return "month";
  return `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, "0")}`;
}

export function monthName(name: string, lang: Lang): string {
  const [year, month] = name.split("-").map(Number);
  return new Intl.DateTimeFormat(lang, { month: "long", year: "numeric" }).format(new Date(year!, month! - 1, 1));
}

export function when(moment: string, lang: Lang): string {
  return new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short" }).format(new Date(moment));
}

export function day(moment: string | Date, lang: Lang): string {
  return new Intl.DateTimeFormat(lang, { day: "numeric", month: "short" }).format(new Date(moment));
}

export function hour(moment: string, lang: Lang): string {
  return new Intl.DateTimeFormat(lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(new Date(moment));
}

export function count(value: number, lang: Lang, digits = 0): string {
  return new Intl.NumberFormat(lang, { maximumFractionDigits: digits }).format(value);
}

export function short(value: number, lang: Lang): string {
  return new Intl.NumberFormat(lang, { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

export function size(bytes: number, lang: Lang): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  let power = 0;
  while (bytes >= 1000 && power < 3) {
    bytes /= 1000;
    power += 1;
  }
  return new Intl.NumberFormat(lang, {
    style: "unit",
    unit: units[power],
    unitDisplay: power ? "short" : "long",
    maximumFractionDigits: bytes < 10 && power ? 1 : 0,
  }).format(bytes);
}
