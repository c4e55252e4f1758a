// Attention weights as they are drawn: one matrix of a layer and a head, or a mean of several.

import { decoded } from "./binary";
import type { Attention, AttentionPart } from "./types";

export function attentionOf(data: ArrayBuffer): Attention {
  const { header, columns } = decoded(data);
  const parts = header.parts as Record<string, Omit<AttentionPart, "weights">>;
  return {
    parts: Object.fromEntries(
      Object.entries(parts).map(([name, part]) => [name, { ...part, weights: columns[name] as Float32Array }]),
    ),
    target: header.target as string | null,
    generated: header.generated as boolean,
  };
}

export interface Matrix {
  rows: number;
  columns: number;
  values: Float32Array;
}

/** One head of one layer; the mean over those that are not named. */
export function matrixOf(part: AttentionPart, layer: number | null, head: number | null): Matrix {
  const [rows, columns] = [part.queries.length, part.keys.length];
  const size = rows * columns;
  const layers = layer === null ? range(part.layers) : [layer];
  const heads = head === null ? range(part.heads) : [head];
  if (layers.length === 1 && heads.length === 1) {
    const start = (layers[0] * part.heads + heads[0]) * size;
    return { rows, columns, values: part.weights.subarray(start, start + size) };
  }
  const values = new Float32Array(size);
  for (const each of layers)
    for (const one of heads) {
      const start = (each * part.heads + one) * size;
      for (let at = 0; at < size; at++) values[at] += part.weights[start + at];
    }
  const count = layers.length * heads.length;
  return { rows, columns, values: values.map((value) => value / count) };
}

export interface Link {
  from: number;
  to: number;
  weight: number;
}

/** The strongest weights of each row: as many lines as one can tell apart. */
export function strongest(matrix: Matrix, perRow: number, least = 0.02): Link[] {
  const found: Link[] = [];
  for (let from = 0; from < matrix.rows; from++) {
    const row: Link[] = [];
    for (let to = 0; to < matrix.columns; to++) {
      const weight = matrix.values[from * matrix.columns + to];
      if (weight >= least) row.push({ from, to, weight });
    }
    row.sort((one, other) => other.weight - one.weight);
    found.push(...row.slice(0, perRow));
  }
  return found;
}

/** A picture of a matrix, one pixel for each weight; the largest weight is the strongest ink. */
export function pixels(matrix: Matrix, ink: readonly [number, number, number]): ImageData {
  const image = new ImageData(matrix.columns, matrix.rows);
  let largest = 1e-6;
  for (const value of matrix.values) if (value > largest) largest = value;
  for (let at = 0; at < matrix.values.length; at++) {
    image.data[4 * at] = ink[0];
    image.data[4 * at + 1] = ink[1];
    image.data[4 * at + 2] = ink[2];
    image.data[4 * at + 3] = Math.round(255 * Math.sqrt(matrix.values[at] / largest));
  }
  return image;
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at);
}
