import { expect, test } from "vitest";
import { matrixOf, strongest } from "./attention";

const part = {
  layers: 2,
  heads: 1,
  queries: ["a", "b"],
  keys: ["a", "b"],
  weights: Float32Array.from([1, 0, 0.5, 0.5, 0, 1, 0.25, 0.75]),
};

test("one head is that part of the weights", () => {
  expect([...matrixOf(part, 1, 0).values]).toEqual([0, 1, 0.25, 0.75]);
});
test("the mean of all layers still sums to 1 in each row", () => {
  const { values } = matrixOf(part, null, null);
  expect([...values]).toEqual([0.5, 0.5, 0.375, 0.625]);
});
test("lines are the strongest of each row", () => {
  expect(strongest(matrixOf(part, 1, 0), 1)).toEqual([
    { from: 0, to: 1, weight: 1 },
    { from: 1, to: 1, weight: 0.75 },
  ]);
});
