// What the page knows: the view (and its link), the spaces, their words, layouts and colors.

import { keep, kept, speech, t } from "../i18n/index.svelte";
import { decoded, WordList } from "./binary";
import { Grid } from "./grid";
import { Pyramid } from "./labels";
import { EMPTY, fromHash, toHash, type View } from "./link";
import { type Asked, asCommand, asPython, type Files } from "./snippets";
import { Problem, type Query, type Recorded, RecordedSource, ServerSource, type Source } from "./source";
import { typedWords } from "./text";
import type { LayoutStatus, Legend, Method, NeighborList, SpaceSummary, Start, Suggestion } from "./types";

export interface SpaceData {
  words: WordList;
  /** Ids of words that translate each other, in pairs. */
  pairs: Uint32Array;
}

export interface LayoutData {
  method: Method;
  places: Float32Array;
  grid: Grid;
  pyramid: Pyramid;
}

export interface ColorData {
  values: Float32Array;
  legend: Legend;
}

export interface Selection {
  name: string;
  /** The file of the vectors: another one has other words. */
  path: string;
  words: string[];
}

const CACHED = 400;
const SAVED = "inlaid-selections";
/** Selections that a browser keeps. */
const MOST_SAVED = 50;

export class Explorer {
  view = $state<View>({ ...EMPTY });
  start = $state<Start | null>(null);
  problem = $state<string>("");
  /** The last analysis that was asked, for "copy as Python" and "copy as command". */
  asked = $state<Asked | null>(null);
  selections = $state<Selection[]>(savedSelections());
  source: Source;

  private readonly promised = new Map<string, Promise<unknown>>();

  constructor(record: Recorded | null) {
    this.source = record
      ? new RecordedSource(record, (what) => t("notRecorded", { what }))
      : new ServerSource(
          () => speech.language,
          () => t("unreachable"),
        );
  }

  async begin(): Promise<void> {
    this.view = fromHash(location.hash);
    try {
      this.start = await this.source.json<Start>("explorer/start");
      this.problem = "";
      this.settle();
    } catch (error) {
      this.problem = messageOf(error);
    }
  }

  /** Fills in what the link leaves open. */
  settle(): void {
    const spaces = this.vectorSpaces;
    // Two languages on one map are what was asked for with a dictionary.
    const first = spaces.find((each) => each.translations && this.view.view === "map") ?? spaces[0];
    if (!spaces.some((each) => each.name === this.view.space)) this.view.space = first?.name ?? "";
    if (!spaces.some((each) => each.name === this.view.other))
      this.view.other = spaces.find((each) => each.name !== this.view.space)?.name ?? "";
    if (!this.models.some((each) => each.name === this.view.model)) this.view.model = this.models[0]?.name ?? "";
    if (this.view.view === "map" && !this.view.space) this.view.view = this.models.length ? "model" : "map";
    if (this.view.view === "compare" && spaces.length < 2) this.view.view = "map";
  }

  get vectorSpaces(): SpaceSummary[] {
    return this.start?.spaces.filter((each) => each.kind === "vectors") ?? [];
  }

  get models(): SpaceSummary[] {
    return this.start?.spaces.filter((each) => each.kind === "model") ?? [];
  }

  get space(): SpaceSummary | undefined {
    return this.vectorSpaces.find((each) => each.name === this.view.space);
  }

  get link(): string {
    return `${location.href.split("#")[0]}#${toHash(this.view)}`;
  }

  get files(): Files {
    return Object.fromEntries(this.start?.spaces.map((each) => [each.name, { path: each.path, kind: each.kind }]) ?? []);
  }

  get python(): string {
    return this.asked ? asPython(this.asked, this.files) : "";
  }

  get command(): string {
    return this.asked ? asCommand(this.asked, this.files) : "";
  }

  words(space: string): Promise<SpaceData> {
    return this.once(`words ${space}`, async () => {
      const { columns } = decoded(await this.source.binary("explorer/words", { space }));
      return {
        words: new WordList(columns.bytes as Uint8Array, columns.ends as Uint32Array),
        pairs: columns.pairs as Uint32Array,
      };
    });
  }

  async statuses(space: string): Promise<LayoutStatus[]> {
    return (await this.source.json<{ layouts: LayoutStatus[] }>("explorer/layouts", { space })).layouts;
  }

  layout(space: string, method: Method): Promise<LayoutData> {
    return this.once(`layout ${space} ${method}`, async () => {
      const { columns } = decoded(await this.source.binary("explorer/places", { space, method }));
      const places = columns.places as Float32Array;
      return { method, places, grid: new Grid(places), pyramid: new Pyramid(places) };
    });
  }

  /** Where the common words of two spaces lie: on the map of the first, and on that of the second turned onto it. */
  async morph(first: string, second: string, method: Method): Promise<Morph> {
    return this.once(`morph ${first} ${second} ${method}`, async () => {
      const [{ places }, data] = await Promise.all([
        this.layout(first, method),
        this.source.binary("explorer/places", { space: second, method, onto: first }),
      ]);
      const { columns } = decoded(data);
      const ids = columns.first as Uint32Array;
      const theirs = columns.second as Uint32Array;
      const turned = columns.places as Float32Array;
      const from = new Float32Array(2 * ids.length);
      const to = new Float32Array(2 * ids.length);
      for (let at = 0; at < ids.length; at++) {
        from.set(places.subarray(2 * ids[at], 2 * ids[at] + 2), 2 * at);
        to.set(turned.subarray(2 * theirs[at], 2 * theirs[at] + 2), 2 * at);
      }
      return { ids, theirs, from, to };
    });
  }

  /** Words that begin as typed; in a file, those that its map has. */
  async complete(space: string, typed: string): Promise<Suggestion[]> {
    if (!this.source.offline) {
      const found = await this.source.json<{ suggestions: Suggestion[] }>("explorer/complete", { space, typed });
      return found.suggestions;
    }
    const { words } = await this.words(space);
    const wanted = typed.toLowerCase();
    const found: Suggestion[] = [];
    for (let id = 0; id < words.length && found.length < 8; id++) {
      const word = words.at(id);
      if (word.toLowerCase().startsWith(wanted)) found.push({ id, word, why: "word" });
    }
    return found;
  }

  color(space: string, by: string, from: string[] = [], to: string[] = []): Promise<ColorData> {
    const query: Query = by === "axis" ? { space, by, from, to } : { space, by };
    return this.once(`color ${JSON.stringify(query)}`, async () => {
      const { header, columns } = decoded(await this.source.binary("explorer/colors", query));
      return { values: columns.values as Float32Array, legend: header.legend as Legend };
    });
  }

  /** Neighbors of words, among the first `top` words where it is given; answers are kept. */
  neighbors(space: string, words: string[], n: number, top?: number): Promise<NeighborList[]> {
    const body = top === undefined ? { space, words, n } : { space, words, n, top };
    return this.once(`neighbors ${JSON.stringify(body)}`, async () => {
      const { result } = await this.source.ask<{ queries: NeighborList[] }>("neighbors", body);
      return result.queries;
    });
  }

  /** The map that is shown, as an analysis. */
  mapAsked(): Asked {
    const { color, from, to, layout, space } = this.view;
    const named: Record<string, unknown> = { method: layout || "tsne" };
    if (color === "trust" || color === "cluster" || (color === "count" && this.space?.counts)) named.color = color;
    if (color === "axis" && from && to) Object.assign(named, { color, axis_from: typedWords(from), axis_to: typedWords(to) });
    return { analysis: "map", opened: { vectors: space }, positional: [], named };
  }

  /** Asks an analysis and remembers it for "copy as". */
  async ask<Result>(asked: Asked): Promise<{ result: Result; notes: string[] }> {
    this.asked = asked;
    return this.answer(asked);
  }

  /** Asks an analysis where the view itself says what is copied. */
  answer<Result>(asked: Asked): Promise<{ result: Result; notes: string[] }> {
    return this.source.ask<Result>(asked.analysis, bodyOf(asked));
  }

  async save(selection: Selection): Promise<void> {
    const others = this.selections.filter((each) => each.name !== selection.name || each.path !== selection.path);
    this.selections = [...others, selection].slice(-MOST_SAVED);
    keep(SAVED, JSON.stringify(this.selections));
  }

  private once<Result>(key: string, make: () => Promise<Result>): Promise<Result> {
    const found = this.promised.get(key);
    if (found) return found as Promise<Result>;
    const made = make();
    this.promised.set(key, made);
    made.catch(() => this.promised.delete(key));
    if (this.promised.size > CACHED)
      for (const old of this.promised.keys()) {
        if (old.startsWith("neighbors")) {
          this.promised.delete(old);
          break;
        }
      }
    return made;
  }
}

export interface Morph {
  ids: Uint32Array;
  theirs: Uint32Array;
  from: Float32Array;
  to: Float32Array;
}

/** The request for an analysis: names of spaces, texts and settings beside each other. */
function bodyOf(asked: Asked): Record<string, unknown> {
  const { analysis, opened, positional, named } = asked;
  const spaces = Object.entries(opened);
  const names = spaces.length === 1 ? { space: spaces[0][1] } : opened;
  const fields = TEXTS[analysis] ?? [];
  const texts = Object.fromEntries(positional.map((each, at) => [fields[at], each]));
  const settings = Object.fromEntries(Object.entries(named).map(([name, value]) => [name.replace(/_$/, ""), value]));
  return { ...names, ...texts, ...settings };
}

/** The inputs of text of each analysis, in their order. */
const TEXTS: Record<string, string[]> = {
  neighbors: ["words"],
  analogy: ["formula"],
  vector: ["formula"],
  axis: [],
  changes: ["word"],
  map: ["words"],
  compare: [],
  attend: ["text"],
  lens: ["text"],
  next: ["text"],
  fill: ["text"],
  translate: ["texts"],
  drift: ["word", "sentences"],
  explain: ["first", "second"],
  embed: ["texts"],
  generate: ["text"],
};

export function messageOf(error: unknown): string {
  if (error instanceof Problem) return error.message;
  return error instanceof Error ? error.message : String(error);
}

/** The selections that the browser kept; what else it may hold is left alone. */
function savedSelections(): Selection[] {
  try {
    const found: unknown = JSON.parse((typeof localStorage === "undefined" ? null : kept(SAVED)) ?? "[]");
    return Array.isArray(found) ? found.filter((each: Selection) => typeof each?.name === "string" && Array.isArray(each.words)) : [];
  } catch {
    return [];
  }
}

function recorded(): Recorded | null {
  const held = typeof document === "undefined" ? null : document.getElementById("inlaid-record");
  return held ? (JSON.parse(held.textContent ?? "null") as Recorded) : null;
}

export const explorer = new Explorer(recorded());
