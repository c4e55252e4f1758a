import { keep, kept } from "../i18n/index.svelte";

export type Theme = "light" | "dark";

function first(): Theme {
  const asked = new URLSearchParams(location.search).get("theme") ?? kept("inlaid-theme");
  if (asked === "light" || asked === "dark") return asked;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

class Look {
  theme = $state<Theme>(first());

  choose(theme: Theme): void {
    this.theme = theme;
    keep("inlaid-theme", theme);
  }
}

export const look = new Look();

export interface Inks {
  ink: string;
  paper: string;
  raised: string;
  muted: string;
  line: string;
  accent: string;
  false: string;
}

/** The colors of the page, for what is drawn on a canvas. */
export function inks(): Inks {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    ink: read("--ink"),
    paper: read("--paper"),
    raised: read("--raised"),
    muted: read("--muted"),
    line: read("--line"),
    accent: read("--accent"),
    false: read("--false"),
  };
}
