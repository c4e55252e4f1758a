import { describe, expect, test } from "vitest";
import { decoded, WordList } from "./binary";
import { around, between, type Camera, fitted, moved, toPlaneX, toPlaneY, toScreenX, toScreenY, zoomedAt } from "./camera";
import { contains, Grid, inLasso } from "./grid";
import { Occupancy, placed, Pyramid } from "./labels";
import { EMPTY, fromHash, joined, split, toHash } from "./link";
import { asCommand, asPython, type Files } from "./snippets";
import { csv, escapedXml, looksLikeFormula, shown, termsOf, typedWords } from "./text";

const SIZE = { width: 800, height: 600 };

function scattered(count: number, seed = 1): Float32Array {
  let state = seed;
  const draw = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state / 2 ** 32) * 2 - 1;
  };
  return Float32Array.from({ length: 2 * count }, draw);
}

describe("camera", () => {
  test("screen and plane are inverse", () => {
    const camera: Camera = { x: 0.3, y: -0.2, scale: 1234 };
    expect(toPlaneX(camera, SIZE, toScreenX(camera, SIZE, 0.71))).toBeCloseTo(0.71);
    expect(toPlaneY(camera, SIZE, toScreenY(camera, SIZE, -0.4))).toBeCloseTo(-0.4);
  });
  test("the point under the pointer stays there", () => {
    const before = fitted(SIZE);
    const after = zoomedAt(before, SIZE, 100, 500, 7);
    expect(toPlaneX(after, SIZE, 100)).toBeCloseTo(toPlaneX(before, SIZE, 100));
    expect(toPlaneY(after, SIZE, 500)).toBeCloseTo(toPlaneY(before, SIZE, 500));
  });
  test("dragging moves what is seen with the pointer", () => {
    const before = fitted(SIZE);
    const after = moved(before, 30, -20);
    expect(toScreenX(after, SIZE, 0.1) - toScreenX(before, SIZE, 0.1)).toBeCloseTo(30);
    expect(toScreenY(after, SIZE, 0.1) - toScreenY(before, SIZE, 0.1)).toBeCloseTo(-20);
  });
  test("a flight starts and ends where it should", () => {
    const from = { x: 0, y: 0, scale: 100 };
    const to = { x: 0.5, y: 0.5, scale: 4000 };
    expect(between(from, to, 0)).toEqual(from);
    expect(between(from, to, 1).x).toBeCloseTo(0.5);
    expect(between(from, to, 1).scale).toBeCloseTo(4000);
  });
  test("all points are seen, also if some have no place", () => {
    const places = Float32Array.from([0.1, 0.1, NaN, NaN, 0.5, 0.3]);
    const camera = around(places, [0, 1, 2], SIZE);
    for (const id of [0, 2]) {
      expect(toScreenX(camera, SIZE, places[2 * id])).toBeGreaterThan(0);
      expect(toScreenX(camera, SIZE, places[2 * id])).toBeLessThan(SIZE.width);
    }
  });
});

describe("grid", () => {
  const places = scattered(5000);
  const grid = new Grid(places);
  const distance = (id: number, x: number, y: number) => Math.hypot(places[2 * id] - x, places[2 * id + 1] - y);
  const sorted = (x: number, y: number) =>
    Array.from({ length: 5000 }, (_, id) => id).sort((one, other) => distance(one, x, y) - distance(other, x, y));

  test("the nearest is that of a search of all", () => {
    for (const [x, y] of [[0, 0], [0.9, -0.9], [-0.33, 0.21]]) expect(grid.nearest(x, y, 0.2)?.id).toBe(sorted(x, y)[0]);
  });
  test("nothing is found where nothing is near", () => {
    expect(new Grid(Float32Array.from([0, 0])).nearest(0.5, 0.5, 0.1)).toBeNull();
  });
  test("the k nearest are those of a search of all", () => {
    for (const id of [0, 17, 4999])
      expect(grid.nearestTo(id, 10)).toEqual(sorted(places[2 * id], places[2 * id + 1]).slice(1, 11));
  });
  test("the k nearest of fewer points are all of them", () => {
    expect(new Grid(Float32Array.from([0, 0, 0.1, 0.1, -1, 1])).nearestTo(0, 10)).toEqual([1, 2]);
  });
  test("a lasso has the points inside", () => {
    const square = [-0.5, -0.5, 0.5, -0.5, 0.5, 0.5, -0.5, 0.5];
    const inside = Array.from({ length: 5000 }, (_, id) => id).filter(
      (id) => Math.abs(places[2 * id]) < 0.5 && Math.abs(places[2 * id + 1]) < 0.5,
    );
    expect(inLasso(grid, places, square)).toEqual(inside);
    expect(contains([0, 0, 1, 0, 0, 1], 0.9, 0.9)).toBe(false);
  });
});

describe("labels", () => {
  const places = scattered(3000, 7);
  const camera = { ...fitted(SIZE), scale: 900 };
  const at = (id: number) => ({
    x: toScreenX(camera, SIZE, places[2 * id]),
    y: toScreenY(camera, SIZE, places[2 * id + 1]),
  });

  test("candidates are seen, and the most frequent come first", () => {
    const found = new Pyramid(places).candidates(camera, SIZE);
    expect(found.length).toBeGreaterThan(50);
    expect([...found].sort((one, other) => one - other)).toEqual(found);
    for (const id of found) {
      expect(at(id).x).toBeGreaterThanOrEqual(0);
      expect(at(id).x).toBeLessThanOrEqual(SIZE.width);
    }
  });
  test("the most frequent word of all is a candidate of the whole map", () => {
    expect(new Pyramid(places).candidates(fitted(SIZE), SIZE)[0]).toBe(0);
  });
  test("no label overlaps another, and none is cut by the edge", () => {
    const all = Array.from({ length: 3000 }, (_, id) => id);
    const labels = placed(all, SIZE, { places: at, width: (id) => 20 + (id % 60), height: 16, gap: 6, most: 500 });
    expect(labels.length).toBeGreaterThan(40);
    for (const one of labels) {
      expect(one.x).toBeGreaterThanOrEqual(0);
      expect(one.x + one.width).toBeLessThanOrEqual(SIZE.width);
      for (const other of labels)
        if (one.id < other.id) {
          const apart =
            one.x + one.width <= other.x || other.x + other.width <= one.x || Math.abs(one.y - other.y) >= 16;
          expect(apart).toBe(true);
        }
    }
  });
  test("what was asked for has its label, also in a crowd of marks", () => {
    const taken = new Occupancy();
    const crowd = [[400, 300], [414, 300], [386, 300], [400, 284], [400, 316]];
    for (const [x, y] of crowd) taken.take({ left: x - 6, right: x + 6, top: y - 6, bottom: y + 6 });
    const placing = { places: () => ({ x: 400, y: 300 }), width: () => 60, height: 18, gap: 10, most: 9 };
    expect(placed([7], SIZE, placing, taken)).toEqual([]);
    expect(placed([7], SIZE, { ...placing, marked: true }, taken).map((each) => each.id)).toEqual([7]);
  });
  test("a place is taken once", () => {
    const taken = new Occupancy();
    expect(taken.take({ left: 0, top: 0, right: 300, bottom: 80 })).toBe(true);
    expect(taken.take({ left: 290, top: 70, right: 310, bottom: 90 })).toBe(false);
    expect(taken.take({ left: 300, top: 0, right: 310, bottom: 80 })).toBe(true);
  });
});

describe("columns", () => {
  test("words and numbers come back", () => {
    const words = ["国王", "queen", "", "𠮷野家"];
    const bytes = words.map((word) => new TextEncoder().encode(word));
    let total = 0;
    const ends = Uint32Array.from(bytes, (each) => (total += each.length));
    const list = new WordList(Uint8Array.from(bytes.flatMap((each) => [...each])), ends);
    expect(words.map((_, id) => list.at(id))).toEqual(words);
    expect(list.find("𠮷野家")).toBe(3);
    expect(list.find("king")).toBe(-1);
  });
  test("a header and its columns", () => {
    const header = new TextEncoder().encode(
      JSON.stringify({ columns: [{ name: "x", type: "f4", at: 0, length: 2 }], k: 7 }),
    );
    const start = 4 * Math.ceil((4 + header.length) / 4);
    const data = new ArrayBuffer(start + 8);
    new DataView(data).setUint32(0, header.length, true);
    new Uint8Array(data).set(header, 4);
    new Float32Array(data, start).set([1.5, -2]);
    expect(decoded(data).header.k).toBe(7);
    expect([...decoded(data).columns.x]).toEqual([1.5, -2]);
  });
});

describe("text", () => {
  test("hostile words are harmless", () => {
    expect([...shown("a".repeat(10_000))].length).toBeLessThanOrEqual(64);
    expect(shown("\u202eevil\u202c")).not.toMatch(/[\u202a-\u202e]/);
    expect(shown("two\nlines")).not.toContain("\n");
    expect(escapedXml('<script>"&')).toBe("&lt;script&gt;&quot;&amp;");
    expect(shown("国王")).toBe("国王");
  });
  test("a cut does not split a character", () => {
    expect(shown("𠮷".repeat(100))).toBe(`${"𠮷".repeat(63)}…`);
  });
  test("words are separated as people separate them", () => {
    expect(typedWords('king, queen 国王、女王，"new york"')).toEqual(["king", "queen", "国王", "女王", "new york"]);
    expect(typedWords("  ")).toEqual([]);
  });
  test("formulas are told from words", () => {
    expect(looksLikeFormula("国王 - 男人 + 女人")).toBe(true);
    expect(looksLikeFormula("e-mail")).toBe(false);
    expect(looksLikeFormula("国王－男人")).toBe(true);
  });
  test("the terms of a formula have their signs", () => {
    expect(termsOf('king - 2 * e-mail + "new york"')).toEqual([
      { sign: "+", word: "king" },
      { sign: "−", word: "e-mail" },
      { sign: "+", word: "new york" },
    ]);
    expect(termsOf("- man + woman").map((each) => each.sign)).toEqual(["−", "+"]);
  });
  test("cells of CSV are no formulas", () => {
    expect(csv([["=1+1", 'say "hi"', -0.5]])).toBe('\ufeff\'=1+1,"say ""hi""",-0.5\r\n');
  });
});

describe("links", () => {
  test("a view comes back from its link", () => {
    const view = { ...EMPTY, view: "compare", word: "国王 & queen", camera: "0.1,0.2,300" };
    expect(fromHash(`#${toHash(view)}`)).toEqual(view);
  });
  test("what a link does not know is left out", () => {
    expect(fromHash("#word=king&__proto__=x&nonsense=1")).toEqual({ ...EMPTY, word: "king" });
  });
});

describe("snippets", () => {
  const files: Files = { a: { path: "my vectors.txt", kind: "vectors" }, m: { path: "bert", kind: "model" } };
  test("neighbors", () => {
    const asked = { analysis: "neighbors", opened: { vectors: "a" }, positional: [["king"]], named: { n: 5 } };
    expect(asPython(asked, files)).toBe(
      'import inlaid\n\nvectors = inlaid.load("my vectors.txt")\nvectors.neighbors(["king"], n=5)',
    );
    expect(asCommand(asked, files)).toBe("inlaid neighbors 'my vectors.txt' king -n 5");
  });
  test("what is shown of a corpus is copied with it", () => {
    const files: Files = { one: { path: "one.inlaid", kind: "vectors" } };
    const given = { corpus: "corpus", text: ["my text.txt"] };
    const asked = { analysis: "explain", opened: { vectors: "one" }, positional: ["a", "b"], named: {}, files: given };
    expect(asCommand(asked, files)).toBe("inlaid explain one.inlaid a b --corpus corpus --text 'my text.txt'");
    expect(asPython(asked, files).split("\n").at(-1)).toBe(
      'vectors.explain("a", "b", corpus=open_corpus(Path("corpus")), text=[Path("my text.txt")])',
    );
  });
  test("quotes of a shell", () => {
    const asked = { analysis: "attend", opened: { model: "m" }, positional: ["it's 国王"], named: { tokens: true } };
    expect(asCommand(asked, files)).toBe(`inlaid attend bert 'it'"'"'s 国王' --tokens`);
    expect(asPython(asked, files).split("\n").at(-1)).toBe('inlaid.attend(model, "it\'s 国王", tokens=True)');
  });
});

test("words of a selection come back from its link, whatever they hold", () => {
  const words = ["a\nb", "c\\nd", "国王", "\\", "e"];
  expect(split(joined(words))).toEqual(words);
});
