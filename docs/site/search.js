// Search over SECTIONS (search-index.js): [page, address, title, text] of each section.
// Chinese has no spaces: a run of Chinese characters matches as a whole, or by its pairs of characters.
"use strict";

const SHOWN = 30;
const TYPICAL = 1000; // characters of a section
const CHINESE = /[\u3400-\u9fff]/;

const plain = (text) => text.normalize("NFKC").toLowerCase();

/** The words of a query: runs of Chinese characters, and words of letters, digits and what names are made of. */
function wordsOf(query) {
  return plain(query).match(/[\u3400-\u9fff]+|[\p{L}\p{N}_]+(?:[.-][\p{L}\p{N}_]+)*/gu)?.flatMap(splitScripts) ?? [];
}

function splitScripts(word) {
  return word.match(/[\u3400-\u9fff]+|[^\u3400-\u9fff]+/g);
}

function pairsOf(run) {
  return Array.from({ length: run.length - 1 }, (_, start) => run.slice(start, start + 2));
}

/** Where a word begins in a text; a Latin word only where a word begins. */
function find(text, word) {
  let at = text.indexOf(word);
  while (at > 0 && !CHINESE.test(word) && /[\p{L}\p{N}]/u.test(text[at - 1]) && !CHINESE.test(text[at - 1])) {
    at = text.indexOf(word, at + 1);
  }
  return at;
}

/** How well a word fits a text, from 0 to 1. */
function fit(text, word) {
  if (find(text, word) >= 0) return 1;
  if (word.length < 3 || !CHINESE.test(word)) return 0;
  const pairs = pairsOf(word);
  const found = pairs.filter((pair) => text.includes(pair)).length / pairs.length;
  return found > 0.35 ? found / 2 : 0;
}

/** Zero unless every word of the query is somewhere in the section. */
function score(section, words) {
  let total = 0;
  for (const word of words) {
    const [page, , title, text] = section.plain;
    const exact = title === word ? 20 : 0;
    const repeated = Math.log1p(text.split(word).length - 1);
    const share = TYPICAL / (TYPICAL + text.length); // long sections have most words somewhere
    const best = exact + 8 * fit(title, word) + 4 * fit(page, word) + share * (2 * fit(text, word) + 2 * repeated);
    if (best === 0) return 0;
    total += best;
  }
  return total;
}

function search(query) {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  return INDEX.map((section) => ({ section, words, score: score(section, words) }))
    .filter((result) => result.score > 0)
    .sort((a, b) => b.score - a.score);
}

/** A piece of the text around the first word that is found, with the words marked. */
function excerpt(text, words) {
  const lower = plain(text);
  const wanted = words.flatMap((word) => (CHINESE.test(word) && find(lower, word) < 0 ? pairsOf(word) : [word]));
  const first = Math.min(...wanted.map((word) => find(lower, word)).filter((at) => at >= 0), text.length);
  const start = Math.max(0, (first === text.length ? 0 : first) - 50);
  const piece = text.slice(start, start + 180).replace(/\s+/g, " ");
  const shown = document.createElement("p");
  const escaped = wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  for (const part of piece.split(new RegExp(`(${escaped.join("|")})`, "iu"))) {
    const marked = wanted.includes(plain(part));
    const node = marked ? document.createElement("mark") : document.createTextNode(part);
    if (marked) node.textContent = part;
    shown.append(node);
  }
  return shown;
}

function item({ section, words }) {
  const [page, address, title, text] = section.shown;
  const shown = document.createElement("li");
  const link = document.createElement("a");
  link.href = address;
  link.textContent = title;
  const where = document.createElement("small");
  where.textContent = title === page ? "" : ` ${page}`;
  shown.append(link, where, excerpt(text, words));
  return shown;
}

function show(query) {
  const found = search(query);
  const count = document.getElementById("count");
  count.textContent = found.length === 0 && query ? count.dataset.none : "";
  document.getElementById("results").replaceChildren(...found.slice(0, SHOWN).map(item));
}

const INDEX = SECTIONS.map((shown) => ({ shown, plain: shown.map(plain) }));
const input = document.getElementById("query");
input.value = new URLSearchParams(location.search).get("q") ?? "";
input.addEventListener("input", () => show(input.value));
show(input.value);
