// What a frame costs: one draw call, and nothing is uploaded while a map is moved.
import { expect, test } from "vitest";
import { type Frame, type PointLayer, pointLayer } from "./points";

/** A WebGL2 context that only counts what is called. */
function counting(): { canvas: HTMLCanvasElement; calls: Map<string, number>; drawn: unknown[][] } {
  const calls = new Map<string, number>();
  const drawn: unknown[][] = [];
  const context = new Proxy(
    {},
    {
      get(_, name: string) {
        if (/^[A-Z_]+$/.test(name)) return name;
        return (...given: unknown[]) => {
          calls.set(name, (calls.get(name) ?? 0) + 1);
          if (name === "drawArrays") drawn.push(given);
          return {};
        };
      },
    },
  );
  const canvas = { getContext: (kind: string) => (kind === "webgl2" ? context : null) };
  return { canvas: canvas as unknown as HTMLCanvasElement, calls, drawn };
}

const frame: Frame = { camera: { x: 0, y: 0, scale: 300 }, size: { width: 800, height: 600 }, ratio: 2, radius: 1.5, morph: 0, dim: 1 };

function filled(layer: PointLayer, count: number): void {
  layer.setPlaces(new Float32Array(2 * count));
  layer.setColors(new Uint8Array(4 * count));
}

test("a frame of 100,000 points is one draw call and no upload", () => {
  const { canvas, calls, drawn } = counting();
  const layer = pointLayer(canvas);
  expect(layer.kind).toBe("webgl2");
  filled(layer, 100_000);
  calls.clear();
  for (let moved = 0; moved < 10; moved++)
    layer.draw({ ...frame, camera: { x: moved / 10, y: 0, scale: 300 + moved }, morph: moved / 10 });
  expect(drawn).toEqual(Array.from({ length: 10 }, () => ["POINTS", 0, 100_000]));
  for (const upload of ["bufferData", "bufferSubData", "texImage2D", "createBuffer"]) expect(calls.get(upload)).toBeUndefined();
  expect([...calls.values()].reduce((sum, each) => sum + each, 0)).toBeLessThan(10 * 12);
});

test("a layer that is thrown away frees what it took", () => {
  const { canvas, calls } = counting();
  pointLayer(canvas).dispose();
  expect(calls.get("deleteBuffer")).toBe(calls.get("createBuffer"));
  expect(calls.get("deleteProgram")).toBe(1);
});

test("without WebGL2 the first words are drawn as squares, and only those that are seen", () => {
  const squares: number[][] = [];
  const context = { setTransform() {}, clearRect() {}, fillRect: (...square: number[]) => squares.push(square) };
  const canvas = { getContext: (kind: string) => (kind === "2d" ? context : null) };
  const layer = pointLayer(canvas as unknown as HTMLCanvasElement);
  expect(layer.kind).toBe("canvas2d");
  layer.setPlaces(Float32Array.from([0, 0, NaN, NaN, 50, 50]));
  layer.setColors(new Uint8Array(12));
  layer.draw(frame);
  expect(squares).toEqual([[400 - frame.radius, 300 - frame.radius, 3, 3]]);
});
