// What the view that is shown can be saved as; each view says so while it is shown.

import { pngOf, type Rows, tableSvg } from "./figures";
import { csv } from "./text";
import { inks } from "./theme.svelte";

type Save = (() => void | Promise<void>) | null;

class Downloads {
  png = $state<Save>(null);
  svg = $state<Save>(null);
  csv = $state<Save>(null);

  offer(offers: { png?: Save; svg?: Save; csv?: Save }): () => void {
    this.png = offers.png ?? null;
    this.svg = offers.svg ?? null;
    this.csv = offers.csv ?? null;
    return () => {
      this.png = null;
      this.svg = null;
      this.csv = null;
    };
  }
}

export const downloads = new Downloads();

export function saveBlob(blob: Blob | null, name: string): void {
  if (!blob) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** What a table can be saved as. */
export function offerTable(rows: () => Rows, name: string): () => void {
  return offerPicture(() => tableSvg(rows(), inks()), rows, name);
}

/** A picture that is drawn as SVG, and its table. */
export function offerPicture(svg: () => string, rows: (() => Rows) | null, name: string): () => void {
  return downloads.offer({
    png: async () => saveBlob(await pngOf(svg()), `${name}.png`),
    svg: () => saveBlob(new Blob([svg()], { type: "image/svg+xml" }), `${name}.svg`),
    csv: rows && (() => saveCsv(rows(), `${name}.csv`)),
  });
}

export function saveCsv(rows: Rows, name: string): void {
  saveBlob(new Blob([csv(rows)], { type: "text/csv" }), name);
}
