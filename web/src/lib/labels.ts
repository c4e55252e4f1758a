// Which words are written on the map: candidates from a pyramid of cells, placed so that none overlaps another.

import { type Camera, type Size, toPlaneX, toPlaneY, toScreenX, toScreenY } from "./camera";

const DEEPEST = 10;
const CELL_WIDTH = 96;
/** Pixels of a cell of the level that candidates are taken from. */

/** For each level, the lowest id (the most frequent word) of each of 4^level cells. */
export class Pyramid {
  private readonly levels: Int32Array[] = [];

  constructor(private readonly places: Float32Array) {
    const count = places.length / 2;
    const deepest = Math.min(DEEPEST, Math.max(2, Math.ceil(Math.log2(Math.sqrt(count + 1))) + 1));
    const side = 1 << deepest;
    const finest = new Int32Array(side * side).fill(-1);
    for (let id = count - 1; id >= 0; id--) {
      const x = places[2 * id];
      const y = places[2 * id + 1];
      if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
      finest[cell(y, side) * side + cell(x, side)] = id;
    }
    this.levels[deepest] = finest;
    for (let level = deepest - 1; level >= 0; level--) this.levels[level] = halved(this.levels[level + 1], 1 << level);
  }

  /** Words worth writing where the camera looks, the most frequent first. */
  candidates(camera: Camera, size: Size): number[] {
    const wanted = Math.round(Math.log2((2 * camera.scale) / CELL_WIDTH)) + 1;
    const level = Math.min(Math.max(wanted, 0), this.levels.length - 1);
    const side = 1 << level;
    const first = this.levels[level];
    const left = cell(toPlaneX(camera, size, 0), side);
    const right = cell(toPlaneX(camera, size, size.width), side);
    const low = cell(toPlaneY(camera, size, size.height), side);
    const high = cell(toPlaneY(camera, size, 0), side);
    const found: number[] = [];
    for (let row = low; row <= high; row++)
      for (let column = left; column <= right; column++) {
        const id = first[row * side + column];
        if (id >= 0 && this.isSeen(id, camera, size)) found.push(id);
      }
    return found.sort((one, other) => one - other);
  }

  private isSeen(id: number, camera: Camera, size: Size): boolean {
    const x = toScreenX(camera, size, this.places[2 * id]);
    const y = toScreenY(camera, size, this.places[2 * id + 1]);
    return x >= 0 && y >= 0 && x <= size.width && y <= size.height;
  }
}

function cell(value: number, side: number): number {
  return Math.min(Math.max(Math.floor(((value + 1) / 2) * side), 0), side - 1);
}

function halved(finer: Int32Array, side: number): Int32Array {
  const coarser = new Int32Array(side * side).fill(-1);
  for (let row = 0; row < side; row++)
    for (let column = 0; column < side; column++) {
      let best = -1;
      for (const at of [0, 1, 2 * side, 2 * side + 1]) {
        const id = finer[2 * row * 2 * side + 2 * column + at];
        if (id >= 0 && (best < 0 || id < best)) best = id;
      }
      coarser[row * side + column] = best;
    }
  return coarser;
}

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Label {
  id: number;
  /** Of the left end of the text, and of its middle, in pixels. */
  x: number;
  y: number;
  width: number;
}

/** Boxes that are taken, in buckets, so that a test looks at few of them. */
export class Occupancy {
  private readonly buckets = new Map<number, Box[]>();

  /** Takes a place if it is free. */
  take(box: Box): boolean {
    const keys = this.keys(box);
    for (const key of keys)
      for (const other of this.buckets.get(key) ?? [])
        if (box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom)
          return false;
    for (const key of keys) {
      const held = this.buckets.get(key);
      if (held) held.push(box);
      else this.buckets.set(key, [box]);
    }
    return true;
  }

  private keys(box: Box): number[] {
    const found: number[] = [];
    for (let row = Math.floor(box.top / 32); row <= Math.floor(box.bottom / 32); row++)
      for (let column = Math.floor(box.left / 128); column <= Math.floor(box.right / 128); column++)
        found.push(row * 4096 + column);
    return found;
  }
}

export interface Placing {
  places: (id: number) => { x: number; y: number };
  width: (id: number) => number;
  height: number;
  gap: number;
  most: number;
  /** Labels may also stand above or below their points, and the first one is always written: what was asked for
   *  has a name, also in a crowd. */
  marked?: boolean;
}

/** Places labels in the order of the candidates, each to the right of its point, or else to the left. */
export function placed(candidates: readonly number[], size: Size, placing: Placing, taken = new Occupancy()): Label[] {
  const found: Label[] = [];
  const half = placing.height / 2;
  for (const id of candidates) {
    if (found.length >= placing.most) break;
    const { x, y } = placing.places(id);
    const width = placing.width(id);
    const seats: [number, number][] = [[x + placing.gap, y], [x - placing.gap - width, y]];
    const above = half + placing.gap;
    if (placing.marked) seats.push([x - width / 2, y - above], [x - width / 2, y + above]);
    const fitting = seats.filter(([left, middle]) => left >= 2 && left + width <= size.width - 2 && middle >= half && middle + half <= size.height);
    const free = fitting.find(([left, middle]) => taken.take({ left: left - 2, right: left + width + 2, top: middle - half, bottom: middle + half }));
    const seat = free ?? (placing.marked && id === candidates[0] ? fitting[0] : undefined);
    if (seat) found.push({ id, x: seat[0], y: seat[1], width });
  }
  return found;
}
