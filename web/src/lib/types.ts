// What the server answers, as far as the page reads it.

export interface SpaceSummary {
  name: string;
  kind: "vectors" | "model";
  path: string;
  words: number | null;
  dim: number;
  points: number;
  uses: string[];
  counts: boolean;
  why: boolean;
  /** Where the corpus of the vectors is; empty where none was named. */
  corpus: string;
  translations: boolean;
  causal?: boolean;
  card: { method: string };
}

export interface TourStep {
  name: string;
  title: Record<string, string>;
  text: Record<string, string>;
  view: Record<string, string>;
}

export interface Start {
  version: string;
  /** The files that the corpora were encoded from. */
  text: string[];
  spaces: SpaceSummary[];
  tour: { steps: TourStep[] } | null;
}

export interface Quality {
  k: number;
  closest: number;
  false: number;
  missing: number;
  trustworthiness: number;
  continuity: number;
  sampled: number;
  among: number;
}

export interface LayoutStatus {
  method: Method;
  state: "waiting" | "running" | "ready" | "failed" | "missing";
  stage: string;
  done: number;
  total: number | null;
  points: number;
  quality: Quality | null;
  problem: string | null;
}

export type Method = "pca" | "tsne" | "umap";
export const METHODS: readonly Method[] = ["pca", "tsne", "umap"];
export const METHOD_NAMES: Record<Method, string> = { pca: "PCA", tsne: "t-SNE", umap: "UMAP" };

export interface Legend {
  by: string;
  groups: { name: string; count: number; color: string }[];
  scale: string[];
  ends: string[];
}

export interface Neighbor {
  word: string;
  score: number;
}

export interface NeighborList {
  query: string;
  neighbors: Neighbor[];
}

export interface Suggestion {
  id: number;
  word: string;
  why: "word" | "pinyin";
}

export interface Ranked {
  word: string;
  first: number | null;
  second: number | null;
}

export interface Changes {
  word: string;
  kept: Ranked[];
  lost: Ranked[];
  gained: Ranked[];
}

export interface Comparison {
  common: number;
  only_first: number;
  only_second: number;
  compared: number;
  overlap: { value: number; low: number; high: number };
  moved: { word: string; distance: number; p: number | null }[];
  words: Changes[];
}

export interface Projection {
  word: string;
  value: number;
  low: number;
  high: number;
  member: string;
}

export interface AxisAnswer {
  start: string[];
  end: string[];
  words: Projection[];
  accuracy: number | null;
  p: number | null;
}

export interface Sentence {
  text: string;
  /** Where the words are, in characters. */
  marks: [number, number][];
}

export interface Why {
  first: string;
  second: string;
  cosine: number;
  dimensions: { dimension: number; share: number }[];
  ngrams: { first: string; second: string; share: number }[];
  text: {
    window: number;
    first_count: number;
    second_count: number;
    cosine: number;
    shared: number;
    contexts: { word: string; first_count: number; second_count: number; weight: number }[];
    cooccurrences: number;
    of_both: Sentence[];
    of_first: Sentence[];
    of_second: Sentence[];
  } | null;
  notes: string[];
}

export interface AttentionPart {
  layers: number;
  heads: number;
  queries: string[];
  keys: string[];
  /** layer, head, query, key */
  weights: Float32Array;
}

export interface Attention {
  parts: Record<string, AttentionPart>;
  target: string | null;
  generated: boolean;
}

export interface Tokens {
  tokens: string[];
  ids: number[];
  words: string[];
  groups: number[];
  special: boolean[];
  vectors: { dim: number; lengths: number[]; components: number[][] } | null;
}

export interface LikelyToken {
  token: string;
  id: number;
  probability: number;
}

export interface Lens {
  tokens: string[];
  causal: boolean;
  /** layer, token, the likeliest tokens */
  layers: LikelyToken[][][];
}

export interface TranslationStep {
  likeliest: LikelyToken[];
  chosen: LikelyToken;
  ends: boolean;
}

export interface TranslationAnswer {
  translations: { text: string; translation: string;
    /** Whether the model came to an end itself. */
    ended: boolean; trace: { start: string[]; steps: TranslationStep[] } | null }[];
}

export interface Drift {
  word: string;
  layers: string[];
  sentences: { text: string; from_input: number[]; among_others: number[] }[];
  pairs: { first: number; second: number; cosines: number[] }[];
}
