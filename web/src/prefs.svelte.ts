// What a person chose for this browser: language, light or dark, whose memory, whether the memory is open beside the
// chat. Kept in localStorage and followed by every open tab; the API key stays with its tab.

export type Lang = "it" | "en";
export type Theme = "system" | "light" | "dark";

const KEY = "ricordo";
const wide = matchMedia("(min-width: 1200px)");

function kept(): { lang?: Lang; theme?: Theme; user?: string; inspector?: boolean; model?: string } {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

class Prefs {
  lang = $state<Lang>("it");
  theme = $state<Theme>("system");
  user = $state("");
  inspector = $state(false);
  model = $state("");

  constructor() {
    this.#take();
    addEventListener("storage", (event) => event.key === KEY && this.#take());
    wide.addEventListener("change", () => this.#take());
  }

  set(change: Partial<Pick<Prefs, "lang" | "theme" | "user" | "inspector" | "model">>): void {
    Object.assign(this, change);
    const { lang, theme, user, model } = this;
    const inspector = change.inspector ?? kept().inspector; // a choice only where one was made
    localStorage.setItem(KEY, JSON.stringify({ lang, theme, user, inspector, model }));
    this.show();
  }

  show(): void {
    document.documentElement.lang = this.lang;
    document.documentElement.dataset.theme = this.theme;
  }

  #take(): void {
    const { lang, theme, user, inspector, model } = kept();
    this.lang = lang ?? (navigator.language.startsWith("it") ? "it" : "en");
    this.theme = theme ?? "system";
    this.user = user ?? "";
    this.inspector = inspector ?? wide.matches; // beside the chat where there is room for both
    this.model = model ?? "";
    this.show();
  }
}

export const prefs = new Prefs();

export const credential = {
  get: (): string => sessionStorage.getItem("ricordo-key") ?? "",
  set: (key: string): void => sessionStorage.setItem("ricordo-key", key),
  clear: (): void => sessionStorage.removeItem("ricordo-key"),
};
