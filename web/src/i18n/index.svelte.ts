import { en } from "./en";
import { zh } from "./zh";

export type Language = "en" | "zh";
export type Key = keyof typeof en;
const DICTIONARIES: Record<Language, Record<Key, string>> = { en, zh };

function first(): Language {
  const asked = new URLSearchParams(location.search).get("lang") ?? kept("inlaid-language");
  if (asked === "zh" || asked === "en") return asked;
  return preferred(navigator.languages);
}

/** The one of our languages that a reader names first; English where none is named. */
export function preferred(languages: readonly string[]): Language {
  const codes = languages.map((each) => each.toLowerCase().split("-")[0]);
  return codes.find((each): each is Language => each === "zh" || each === "en") ?? "en";
}

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // a file, or storage that is turned off
  }
}

export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // it will be asked again
  }
}

class Speech {
  language = $state<Language>(typeof location === "undefined" ? "en" : first());

  choose(language: Language): void {
    this.language = language;
    keep("inlaid-language", language);
  }
}

export const speech = new Speech();

/** A sentence of the interface; {name} stands for a value. */
export function t(key: Key, values: Record<string, string | number> = {}): string {
  return DICTIONARIES[speech.language][key].replace(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? numbered(values[name]) : whole,
  );
}

export function numbered(value: string | number): string {
  return typeof value === "number" ? value.toLocaleString(speech.language === "zh" ? "zh-CN" : "en") : value;
}

export function percent(value: number): string {
  return `${Math.round(100 * value)}${speech.language === "zh" ? "" : "\u202f"}%`;
}
