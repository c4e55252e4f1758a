// A uniform grid over the points: what is under the pointer, nearest to a point, or in a lasso.

export interface Hit {
  id: number;
  distance: number;
}

const SIDE = 512;

export class Grid {
  private readonly starts: Uint32Array;
  private readonly ids: Uint32Array;
  private readonly side: number;

  constructor(private readonly places: Float32Array) {
    const count = places.length / 2;
    this.side = Math.max(1, Math.min(SIDE, Math.ceil(Math.sqrt(count / 2))));
    const cells = this.side * this.side;
    this.starts = new Uint32Array(cells + 1);
    const cellOf = new Int32Array(count);
    for (let id = 0; id < count; id++) {
      const cell = this.cell(places[2 * id], places[2 * id + 1]);
      cellOf[id] = cell;
      if (cell >= 0) this.starts[cell + 1]++;
    }
    for (let cell = 0; cell < cells; cell++) this.starts[cell + 1] += this.starts[cell];
    this.ids = new Uint32Array(this.starts[cells]);
    const next = this.starts.slice(0, cells);
    for (let id = 0; id < count; id++) if (cellOf[id] >= 0) this.ids[next[cellOf[id]]++] = id;
  }

  /** The nearest point within a distance; null where there is none. */
  nearest(x: number, y: number, within: number): Hit | null {
    let best: Hit | null = null;
    this.each(x - within, y - within, x + within, y + within, (id) => {
      const distance = Math.hypot(this.places[2 * id] - x, this.places[2 * id + 1] - y);
      if (distance <= (best?.distance ?? within)) best = { id, distance };
    });
    return best;
  }

  /** The k points nearest to a point of the map, without it, nearest first. */
  nearestTo(id: number, k: number): number[] {
    const x = this.places[2 * id];
    const y = this.places[2 * id + 1];
    if (!Number.isFinite(x) || !Number.isFinite(y)) return [];
    const cellSize = 2 / this.side;
    for (let reach = cellSize; ; reach *= 2) {
      const hits: Hit[] = [];
      this.each(x - reach, y - reach, x + reach, y + reach, (other) => {
        if (other === id) return;
        const distance = Math.hypot(this.places[2 * other] - x, this.places[2 * other + 1] - y);
        if (distance <= reach) hits.push({ id: other, distance });
      });
      if (hits.length >= k || reach > 4) {
        hits.sort((one, other) => one.distance - other.distance || one.id - other.id);
        return hits.slice(0, k).map((hit) => hit.id);
      }
    }
  }

  /** Calls back for the points in the cells that a rectangle touches. */
  each(left: number, low: number, right: number, high: number, call: (id: number) => void): void {
    const firstColumn = this.column(left);
    const lastColumn = this.column(right);
    const firstRow = this.column(low);
    const lastRow = this.column(high);
    for (let row = firstRow; row <= lastRow; row++) {
      const from = this.starts[row * this.side + firstColumn];
      const to = this.starts[row * this.side + lastColumn + 1];
      for (let at = from; at < to; at++) call(this.ids[at]);
    }
  }

  /** The first points, by id, in a rectangle: ids are ranks, so these are the most frequent words. */
  firstIn(left: number, low: number, right: number, high: number, most: number): number[] {
    const found: number[] = [];
    this.each(left, low, right, high, (id) => {
      const x = this.places[2 * id];
      const y = this.places[2 * id + 1];
      if (x >= left && x <= right && y >= low && y <= high) found.push(id);
    });
    found.sort((one, other) => one - other);
    return found.slice(0, most);
  }

  private column(value: number): number {
    return Math.min(Math.max(Math.floor(((value + 1) / 2) * this.side), 0), this.side - 1);
  }

  private cell(x: number, y: number): number {
    if (!Number.isFinite(x) || !Number.isFinite(y)) return -1;
    return this.column(y) * this.side + this.column(x);
  }
}

/** The points inside a closed polygon, given as x, y, x, y, ... */
export function inLasso(grid: Grid, places: Float32Array, polygon: readonly number[]): number[] {
  let left = Infinity;
  let right = -Infinity;
  let low = Infinity;
  let high = -Infinity;
  for (let at = 0; at < polygon.length; at += 2) {
    left = Math.min(left, polygon[at]);
    right = Math.max(right, polygon[at]);
    low = Math.min(low, polygon[at + 1]);
    high = Math.max(high, polygon[at + 1]);
  }
  if (polygon.length < 6) return [];
  const found: number[] = [];
  grid.each(left, low, right, high, (id) => {
    if (contains(polygon, places[2 * id], places[2 * id + 1])) found.push(id);
  });
  return found.sort((one, other) => one - other);
}

/** Even-odd rule. */
export function contains(polygon: readonly number[], x: number, y: number): boolean {
  let inside = false;
  const count = polygon.length / 2;
  for (let one = 0, other = count - 1; one < count; other = one++) {
    const x1 = polygon[2 * one];
    const y1 = polygon[2 * one + 1];
    const x2 = polygon[2 * other];
    const y2 = polygon[2 * other + 1];
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
  }
  return inside;
}
