// The map that is shown: its words and places, and what the panels mark on it.

import { explorer, type LayoutData, type SpaceData } from "./explorer.svelte";
import type { Line, Mark } from "./overlay";
import type { Neighbor } from "./types";

export interface Neighborhood {
  id: number;
  word: string;
  /** The true neighbors among the words of the map, nearest first. */
  neighbors: Neighbor[];
  /** Of these, which are on the map, and whether they are among the nearest there, too. */
  seen: { id: number; near: boolean }[];
  /** Near on the map, but not near. */
  false: number[];
}

export const NEAR = 10;

class MapState {
  data = $state.raw<SpaceData | null>(null);
  layout = $state.raw<LayoutData | null>(null);
  marks = $state.raw<readonly Mark[]>([]);
  lines = $state.raw<readonly Line[]>([]);
  hoverMarks = $state.raw<readonly Mark[] | null>(null);
  hoverLines = $state.raw<readonly Line[]>([]);
  pngOffer: (() => void) | null = null;
  svgOffer: (() => void) | null = null;
  /** Asks the canvas to show some points. */
  show: (ids: readonly number[]) => void = () => {};

  id(word: string): number {
    return this.data?.words.find(word) ?? -1;
  }

  word(id: number): string {
    return this.data?.words.at(id) ?? "";
  }

  isOn(id: number): boolean {
    return id >= 0 && this.layout !== null && Number.isFinite(this.layout.places[2 * id]);
  }

  mark(marks: readonly Mark[], lines: readonly Line[] = []): void {
    this.marks = marks.filter((each) => this.isOn(each.id));
    this.lines = lines.filter((each) => this.isOn(each.from) && this.isOn(each.to));
  }

  clear(): void {
    this.mark([]);
  }

  /** The true neighbors of a word of the map, and those that only look so. */
  async neighborhood(word: string): Promise<Neighborhood | null> {
    const { layout, data } = this;
    const id = this.id(word);
    if (!layout || !data || !this.isOn(id)) return null;
    const [list] = await explorer.neighbors(explorer.view.space, [word], NEAR, layout.places.length / 2);
    if (layout !== this.layout) return null;
    const near = new Set(layout.grid.nearestTo(id, NEAR));
    const ids = list.neighbors.map((each) => data.words.find(each.word));
    const truly = new Set(ids);
    return {
      id,
      word,
      neighbors: list.neighbors,
      seen: ids.map((each) => ({ id: each, near: near.has(each) })),
      false: [...near].filter((each) => !truly.has(each)),
    };
  }

  marksOf(found: Neighborhood): { marks: Mark[]; lines: Line[] } {
    const marks: Mark[] = [{ id: found.id, role: "focus" }];
    const lines: Line[] = [];
    found.seen.forEach(({ id }, at) => {
      if (!this.isOn(id)) return;
      marks.push({ id, role: "true", note: found.neighbors[at].score.toFixed(2) });
      lines.push({ from: found.id, to: id, role: "true" });
    });
    for (const id of found.false) marks.push({ id, role: "false" });
    return { marks, lines };
  }
}

export const map = new MapState();
