// Values of words as colors of points.

import type { Legend } from "./types";

export type Rgb = readonly [number, number, number];
const GREY: Rgb = [150, 156, 163];

/** r, g, b and whether it is lit, for each point. */
export function painted(
  count: number,
  values: Float32Array | null,
  legend: Legend | null,
  plain: string,
  lit: ReadonlySet<number> | null,
): Uint8Array {
  const colors = new Uint8Array(4 * count);
  const groups = legend?.groups.map((group) => rgb(group.color)) ?? [];
  const scale = legend && !groups.length ? ramp(legend.scale.map(rgb)) : null;
  const one = rgb(plain);
  for (let id = 0; id < count; id++) {
    const value = values ? values[id] : 0;
    let color = one;
    if (values) {
      if (Number.isNaN(value) || value === undefined) color = GREY;
      else if (scale) color = scale[Math.min(Math.max(Math.round(value * 255), 0), 255)];
      else color = groups[value] ?? GREY;
    }
    colors[4 * id] = color[0];
    colors[4 * id + 1] = color[1];
    colors[4 * id + 2] = color[2];
    colors[4 * id + 3] = lit === null || lit.has(id) ? 255 : 0;
  }
  return colors;
}

export function rgb(hex: string): Rgb {
  const number = Number.parseInt(hex.replace("#", "").slice(0, 6), 16);
  return [(number >> 16) & 255, (number >> 8) & 255, number & 255];
}

function ramp(stops: Rgb[]): Rgb[] {
  if (!stops.length) return Array.from({ length: 256 }, () => GREY);
  return Array.from({ length: 256 }, (_, at) => {
    const place = (at / 255) * (stops.length - 1);
    const low = Math.floor(place);
    const high = Math.min(low + 1, stops.length - 1);
    const part = place - low;
    const mixed = [0, 1, 2].map((channel) => Math.round(stops[low][channel] * (1 - part) + stops[high][channel] * part));
    return mixed as unknown as Rgb;
  });
}
