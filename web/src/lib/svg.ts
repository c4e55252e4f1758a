// The map as SVG: the points that are seen, their labels, marks and lines.

import { type Camera, type Size, toScreenX, toScreenY } from "./camera";
import type { LayoutData } from "./explorer.svelte";
import { placed } from "./labels";
import type { Line, Mark } from "./overlay";
import { radiusOf } from "./points";
import { escapedXml, shown } from "./text";
import type { Inks } from "./theme.svelte";

export const MOST_POINTS = 30_000;

export interface Drawn {
  layout: Pick<LayoutData, "places" | "pyramid">;
  colors: Uint8Array;
  camera: Camera;
  size: Size;
  word: (id: number) => string;
  marks: readonly Mark[];
  lines: readonly Line[];
  inks: Inks;
}

export function mapSvg(drawn: Drawn): string {
  const { layout, camera, size, inks } = drawn;
  const at = (id: number) => ({
    x: toScreenX(camera, size, layout.places[2 * id]),
    y: toScreenY(camera, size, layout.places[2 * id + 1]),
  });
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" font-family="sans-serif" font-size="12.5">`,
    `<rect width="100%" height="100%" fill="${inks.paper}"/>`,
    ...circles(drawn, at),
    ...drawn.lines.map(({ from, to, role }) => {
      const [one, other] = [at(from), at(to)];
      const ink = role === "false" ? inks.false : inks.accent;
      return `<line x1="${fixed(one.x)}" y1="${fixed(one.y)}" x2="${fixed(other.x)}" y2="${fixed(other.y)}" stroke="${ink}" stroke-width="1.5" opacity="0.65"/>`;
    }),
    ...drawn.marks.map(({ id, role }) => {
      const { x, y } = at(id);
      const ink = role === "false" ? inks.false : role === "focus" ? inks.ink : inks.accent;
      return `<circle cx="${fixed(x)}" cy="${fixed(y)}" r="5" fill="${role === "false" ? inks.paper : ink}" stroke="${ink}" stroke-width="2"/>`;
    }),
    ...labels(drawn, at),
    "</svg>",
  ];
  return parts.join("\n");
}

function circles({ layout, colors, camera, size }: Drawn, at: (id: number) => { x: number; y: number }): string[] {
  const radius = fixed(radiusOf(layout.places.length / 2, camera));
  const found: string[] = [];
  for (let id = 0; id < layout.places.length / 2 && found.length < MOST_POINTS; id++) {
    const { x, y } = at(id);
    if (!(x >= 0 && y >= 0 && x <= size.width && y <= size.height)) continue;
    const fill = `rgb(${colors[4 * id]},${colors[4 * id + 1]},${colors[4 * id + 2]})`;
    const opacity = colors[4 * id + 3] ? 0.86 : 0.2;
    found.push(`<circle cx="${fixed(x)}" cy="${fixed(y)}" r="${radius}" fill="${fill}" opacity="${opacity}"/>`);
  }
  return found;
}

function labels({ layout, camera, size, word, marks, inks }: Drawn, at: (id: number) => { x: number; y: number }): string[] {
  const first = marks.map((mark) => mark.id);
  const known = new Set(first);
  const others = layout.pyramid.candidates(camera, size).filter((id) => !known.has(id));
  const texts = (id: number) => shown(word(id), 24);
  const found = placed([...first, ...others], size, {
    places: at,
    width: (id) => widthOf(texts(id)),
    height: 16,
    gap: 7,
    most: 200,
  });
  return found.map((label) => {
    const weight = known.has(label.id) ? ' font-weight="600"' : "";
    const place = `x="${fixed(label.x)}" y="${fixed(label.y + 4)}"`;
    return `<text ${place} fill="${inks.ink}"${weight} paint-order="stroke" stroke="${inks.paper}" stroke-width="3">${escapedXml(texts(label.id))}</text>`;
  });
}

/** About the width of a text: Chinese characters are as wide as high, others about half. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += /[\u2e80-\uffef]/.test(character) ? 12.5 : 7;
  return width;
}

function fixed(value: number): string {
  return value.toFixed(1);
}
