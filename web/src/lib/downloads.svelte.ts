// What the view that is shown can be saved as; each view says so while it is shown.

import { csv } from "./text";

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

export function saveCsv(rows: readonly (readonly (string | number)[])[], name: string): void {
  saveBlob(new Blob([csv(rows)], { type: "text/csv" }), name);
}
