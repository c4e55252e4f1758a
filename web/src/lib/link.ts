// The link that restores a view: everything worth sharing, in the part after #.

export interface View {
  view: string;
  space: string;
  other: string;
  layout: string;
  color: string;
  panel: string;
  word: string;
  formula: string;
  from: string;
  to: string;
  why: string;
  text: string;
  second: string;
  model: string;
  layer: string;
  head: string;
  /** How attention is drawn, of which part, between words or tokens; the token that was chosen. */
  look: string;
  part: string;
  units: string;
  token: string;
  /** The step of a translation. */
  step: string;
  /** Two maps, or one that morphs. */
  shape: string;
  morph: string;
  /** Whether lines join translations. */
  lines: string;
  /** How many neighbors, and by which score. */
  n: string;
  by: string;
  camera: string;
  /** Words of a selection, and its name. */
  chosen: string;
  title: string;
  /** The step of the guided tour. */
  tour: string;
}

export const EMPTY: View = {
  view: "map",
  space: "",
  other: "",
  layout: "",
  color: "",
  panel: "",
  word: "",
  formula: "",
  from: "",
  to: "",
  why: "",
  text: "",
  second: "",
  model: "",
  layer: "",
  head: "",
  look: "",
  part: "",
  units: "",
  token: "",
  step: "",
  shape: "",
  morph: "",
  lines: "",
  n: "",
  by: "",
  camera: "",
  chosen: "",
  title: "",
  tour: "",
};

/** Words as one text, a line each; a word of a file can hold a line break. */
export function joined(words: readonly string[]): string {
  return words.map((word) => word.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")).join("\n");
}

export function split(text: string): string[] {
  return text.split("\n").map((line) => line.replace(/\\(.)/g, (_, letter: string) => (letter === "n" ? "\n" : letter)));
}

export function toHash(view: View): string {
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(view))
    if (value !== "" && value !== EMPTY[name as keyof View]) written.set(name, value);
  return written.toString();
}

export function fromHash(hash: string): View {
  const view = { ...EMPTY };
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, "")))
    if (Object.hasOwn(EMPTY, name)) view[name as keyof View] = value.slice(0, 20_000);
  return view;
}
