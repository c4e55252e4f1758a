import { expect, test } from "vitest";
import { en } from "./en";
import { zh } from "./zh";

const placeholders = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

test("both languages have the same keys", () => {
  expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
});

test("a sentence has the same values in both languages", () => {
  for (const key of Object.keys(en) as (keyof typeof en)[])
    expect([key, placeholders(zh[key])]).toEqual([key, placeholders(en[key])]);
});

test("Chinese is Chinese: no sentence was left in English", () => {
  const same = (Object.keys(en) as (keyof typeof en)[]).filter((key) => zh[key] === en[key]);
  expect(same).toEqual([]);
});

test("every sentence is used", () => {
  const sources = import.meta.glob(["../**/*.svelte", "../**/*.ts", "!../i18n/en.ts", "!../i18n/zh.ts"], {
    query: "?raw",
    import: "default",
    eager: true,
  });
  const text = Object.values(sources).join("\n");
  expect(Object.keys(en).filter((key) => !text.includes(`"${key}"`))).toEqual([]);
});
