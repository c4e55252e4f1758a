// Columns as the server sends them: the length of a JSON header (u32), the header, then little-endian columns.

export type Column = Float32Array | Uint32Array | Int32Array | Uint8Array;

export interface Columns {
  header: Record<string, unknown>;
  columns: Record<string, Column>;
}

interface Described {
  name: string;
  type: "f4" | "u4" | "i4" | "u1";
  at: number;
  length: number;
}

const KINDS = { f4: Float32Array, u4: Uint32Array, i4: Int32Array, u1: Uint8Array };

export function decoded(data: ArrayBuffer): Columns {
  const length = new DataView(data).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))) as Record<string, unknown>;
  const start = 4 * Math.ceil((4 + length) / 4);
  const columns: Record<string, Column> = {};
  for (const each of header.columns as Described[])
    columns[each.name] = new KINDS[each.type](data, start + each.at, each.length);
  return { header, columns };
}

/** Words as one piece of UTF-8 and where each ends: a string is made only when it is shown. */
export class WordList {
  readonly length: number;
  private readonly decoder = new TextDecoder();
  private ids: Map<string, number> | null = null;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly ends: Uint32Array,
  ) {
    this.length = ends.length;
  }

  at(id: number): string {
    return this.decoder.decode(this.bytes.subarray(id === 0 ? 0 : this.ends[id - 1], this.ends[id]));
  }

  /** The id of a word, or -1. The first call makes an index of all. */
  find(word: string): number {
    if (this.ids === null) {
      this.ids = new Map();
      for (let id = this.length - 1; id >= 0; id--) this.ids.set(this.at(id), id);
    }
    return this.ids.get(word) ?? -1;
  }
}

export function fromBase64(text: string): ArrayBuffer {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes.buffer;
}
