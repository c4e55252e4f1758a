// Pictures of views that are no map: tables as SVG, several pictures side by side, and SVG as PNG.

import type { Drawn } from "./svg";
import { mapSvg } from "./svg";
import { escapedXml, shown } from "./text";
import type { Inks } from "./theme.svelte";

export type Rows = readonly (readonly (string | number)[])[];

const ROW = 24;
const GAP = 18;
const LONGEST = 32;
/** Pixels of a side, at most: browsers draw no larger pictures. */
const LARGEST = 8192;

/** A table as SVG, its first row bold. */
export function tableSvg(rows: Rows, inks: Inks): string {
  const cells = rows.map((row) => row.map((cell) => shown(String(cell), LONGEST)));
  const columns = Math.max(...cells.map((row) => row.length), 1);
  const widths = Array.from({ length: columns }, (_, at) => Math.max(...cells.map((row) => widthOf(row[at] ?? "")), 20));
  const lefts = widths.map((_, at) => 12 + widths.slice(0, at).reduce((sum, each) => sum + each + GAP, 0));
  const width = lefts[columns - 1] + widths[columns - 1] + 12;
  const height = rows.length * ROW + 16;
  const texts = cells.flatMap((row, line) =>
    row.map((text, at) => `<text x="${lefts[at]}" y="${line * ROW + 24}"${line ? "" : ' font-weight="600"'} fill="${inks.ink}">${escapedXml(text)}</text>`),
  );
  return [opening(width, height, 14), `<rect width="100%" height="100%" fill="${inks.paper}"/>`, ...texts, "</svg>"].join("\n");
}

/** Maps beside each other. */
export function mapsSvg(maps: readonly Drawn[]): string {
  const width = maps.reduce((sum, each) => sum + each.size.width, 0);
  const height = Math.max(...maps.map((each) => each.size.height));
  let left = 0;
  const placed = maps.map((each) => {
    const inside = mapSvg(each).replace("<svg ", `<svg x="${left}" width="${each.size.width}" height="${each.size.height}" `);
    left += each.size.width;
    return inside;
  });
  return [opening(width, height, 12.5), ...placed, "</svg>"].join("\n");
}

export function opening(width: number, height: number, size: number): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="${size}">`;
}

/** An SVG of ours as PNG, at twice its size where that is not too large. */
export async function pngOf(svg: string): Promise<Blob | null> {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    image.src = address;
    await image.decode();
    const scale = Math.min(2, LARGEST / Math.max(image.naturalWidth, image.naturalHeight, 1));
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(image.naturalWidth * scale);
    canvas.height = Math.round(image.naturalHeight * scale);
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => canvas.toBlob(done));
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** About the width of a text: Chinese characters are as wide as high, others about half. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += /[\u2e80-\uffef]/.test(character) ? 14 : 8;
  return width;
}

export interface MatrixFigure {
  title: string;
  queries: readonly string[];
  keys: readonly string[];
  /** The weights, one pixel each, as the address of an image. */
  image: string;
}

const CELL = 18;

/** A matrix of attention with the words of its rows and columns. */
export function matrixSvg(figure: MatrixFigure, inks: Inks): string {
  const { queries, keys } = figure;
  const left = Math.max(...queries.map((word) => widthOf(shown(word, 16))), 20) + 20;
  const top = Math.max(...keys.map((word) => widthOf(shown(word, 16))), 20) + 44;
  const width = left + keys.length * CELL + 12;
  const height = top + queries.length * CELL + 12;
  return [
    opening(width, height, 13),
    `<rect width="100%" height="100%" fill="${inks.paper}"/>`,
    `<text x="12" y="22" fill="${inks.muted}">${escapedXml(figure.title)}</text>`,
    `<image href="${figure.image}" x="${left}" y="${top}" width="${keys.length * CELL}" height="${queries.length * CELL}" preserveAspectRatio="none" style="image-rendering:pixelated"/>`,
    ...queries.map((word, at) => `<text x="${left - 6}" y="${top + at * CELL + 13}" text-anchor="end" fill="${inks.ink}">${escapedXml(shown(word, 16))}</text>`),
    ...keys.map((word, at) => `<text transform="translate(${left + at * CELL + 13} ${top - 6}) rotate(-90)" fill="${inks.ink}">${escapedXml(shown(word, 16))}</text>`),
    "</svg>",
  ].join("\n");
}

const THUMB = 76;

/** Every head of every layer: one row for each layer. */
export function gridSvg(layers: number, heads: number, layer: string, image: (layer: number, head: number) => string, inks: Inks): string {
  const left = 70;
  const images = Array.from({ length: layers * heads }, (_, at) => {
    const [row, column] = [Math.floor(at / heads), at % heads];
    const place = `x="${left + column * (THUMB + 6)}" y="${28 + row * (THUMB + 6)}"`;
    return `<image href="${image(row, column)}" ${place} width="${THUMB}" height="${THUMB}" preserveAspectRatio="none" style="image-rendering:pixelated"/>`;
  });
  const rows = Array.from({ length: layers }, (_, at) => `<text x="10" y="${28 + at * (THUMB + 6) + THUMB / 2}" fill="${inks.ink}">${escapedXml(layer)} ${at}</text>`);
  const columns = Array.from({ length: heads }, (_, at) => `<text x="${left + at * (THUMB + 6) + THUMB / 2}" y="18" text-anchor="middle" fill="${inks.ink}">${at}</text>`);
  return [opening(left + heads * (THUMB + 6) + 6, 34 + layers * (THUMB + 6), 13), `<rect width="100%" height="100%" fill="${inks.paper}"/>`, ...rows, ...columns, ...images, "</svg>"].join("\n");
}
