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
  step: string;
  morph: string;
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
  step: "",
  morph: "",
  camera: "",
  chosen: "",
  title: "",
  tour: "",
};

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
