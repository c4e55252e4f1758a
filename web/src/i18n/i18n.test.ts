import { expect, test } from "vitest";
import { en } from "./en";
import { percent, preferred, speech } from "./index.svelte";
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

test("the language is the one that a reader names first", () => {
  expect(preferred(["zh-CN", "en"])).toBe("zh");
  expect(preferred(["en-US", "zh-CN"])).toBe("en");
  expect(preferred(["fr", "zh-TW", "en"])).toBe("zh");
  expect(preferred(["fr"])).toBe("en");
});

test("a share is written as each language writes it", () => {
  speech.language = "zh";
  expect(percent(0.256)).toBe("26%");
  speech.language = "en";
  expect(percent(0.256)).toBe("26\u202f%");
});
