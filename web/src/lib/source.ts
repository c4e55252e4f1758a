// Where answers come from: the server, or the record inside an exported file.

import { fromBase64 } from "./binary";
import type { Body } from "./snippets";

export interface Answer<Result = Body> {
  result: Result;
  notes: string[];
}

export interface Source {
  readonly offline: boolean;
  json<Result>(path: string, query?: Query): Promise<Result>;
  binary(path: string, query?: Query): Promise<ArrayBuffer>;
  post<Result>(path: string, body: Body, query?: Query): Promise<Result>;
  postBinary(path: string, body: Body): Promise<ArrayBuffer>;
  ask<Result>(analysis: string, body: Body): Promise<Answer<Result>>;
}

export type Query = Record<string, string | readonly string[]>;

/** What the server, or the file, says about a request that has no answer. */
export class Problem extends Error {
  constructor(
    message: string,
    readonly kind = "",
  ) {
    super(message);
  }
}

export function search(query: Query): string {
  const found = new URLSearchParams();
  for (const name of Object.keys(query).sort())
    for (const value of [query[name]].flat()) found.append(name, value as string);
  const text = found.toString();
  return text ? `?${text}` : "";
}

/** JSON with sorted keys: the same request has the same key, here and in Python. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value).filter(([, each]) => each !== undefined);
    return `{${entries
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, each]) => `${JSON.stringify(name)}:${canonical(each)}`)
      .join(",")}}`;
  }
  return JSON.stringify(value);
}

export class ServerSource implements Source {
  readonly offline = false;

  constructor(
    private readonly language: () => string,
    private readonly unreachable: () => string,
  ) {}

  async json<Result>(path: string, query: Query = {}): Promise<Result> {
    return (await (await this.fetched(path + search(query))).json()) as Result;
  }

  async binary(path: string, query: Query = {}): Promise<ArrayBuffer> {
    return (await this.fetched(path + search(query))).arrayBuffer();
  }

  async post<Result>(path: string, body: Body, query: Query = {}): Promise<Result> {
    return (await (await this.fetched(path + search(query), sent(body))).json()) as Result;
  }

  async postBinary(path: string, body: Body): Promise<ArrayBuffer> {
    return (await this.fetched(path, sent(body))).arrayBuffer();
  }

  async ask<Result>(analysis: string, body: Body): Promise<Answer<Result>> {
    return answerOf<Result>(await this.post(`api/v1/${analysis}`, body));
  }

  private async fetched(url: string, options: RequestInit = {}): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(url, { ...options, headers: { ...options.headers, "accept-language": this.language() } });
    } catch {
      throw new Problem(this.unreachable(), "unreachable");
    }
    if (!response.ok) throw await problemOf(response);
    return response;
  }
}

function sent(body: Body): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

async function problemOf(response: Response): Promise<Problem> {
  try {
    const { error } = (await response.json()) as { error: { message: string; kind: string } };
    return new Problem(error.message, error.kind);
  } catch {
    return new Problem(`HTTP ${response.status}`);
  }
}

function answerOf<Result>(given: unknown): Answer<Result> {
  const { result, notes } = given as { result?: Result; notes?: (string | { message: string })[] };
  if (result === undefined) return { result: given as Result, notes: [] };
  return { result, notes: (notes ?? []).map((note) => (typeof note === "string" ? note : note.message)) };
}

/** What an exported file carries. */
export interface Recorded {
  json: Record<string, unknown>;
  binary: Record<string, string>;
  /** Space -> its words and the neighbors of each, by rank. */
  neighbors: Record<string, { words: string[]; k: number; ids: string; cosines: string }>;
}

export class RecordedSource implements Source {
  readonly offline = true;
  private readonly decoded = new Map<string, Neighborhoods>();

  constructor(
    private readonly record: Recorded,
    private readonly missing: (what: string) => string,
  ) {}

  async json<Result>(path: string, query: Query = {}): Promise<Result> {
    return this.held<Result>(`GET ${path}${search(query)}`);
  }

  async binary(path: string, query: Query = {}): Promise<ArrayBuffer> {
    const found = this.record.binary[`GET ${path}${search(query)}`];
    if (found === undefined) throw new Problem(this.missing(path), "recorded");
    return fromBase64(found);
  }

  async post<Result>(path: string, body: Body, query: Query = {}): Promise<Result> {
    return this.held<Result>(`POST ${path}${search(query)} ${canonical(body)}`);
  }

  async postBinary(path: string, body: Body): Promise<ArrayBuffer> {
    const found = this.record.binary[`POST ${path} ${canonical(body)}`];
    if (found === undefined) throw new Problem(this.missing(path), "recorded");
    return fromBase64(found);
  }

  async ask<Result>(analysis: string, body: Body): Promise<Answer<Result>> {
    const of = this.record.neighbors[String(body.space)];
    if (analysis === "neighbors" && of) return { result: this.neighbors(String(body.space), body) as Result, notes: [] };
    return answerOf<Result>(this.held(`POST api/v1/${analysis} ${canonical(body)}`));
  }

  private held<Result>(key: string): Result {
    if (!Object.hasOwn(this.record.json, key)) throw new Problem(this.missing(key), "recorded");
    return this.record.json[key] as Result;
  }

  private neighbors(space: string, body: Body): unknown {
    const words = (Array.isArray(body.words) ? body.words : [body.words]) as string[];
    const n = Number(body.n ?? 10);
    let of = this.decoded.get(space);
    if (!of) this.decoded.set(space, (of = new Neighborhoods(this.record.neighbors[space])));
    return { queries: words.map((word) => ({ query: word, neighbors: of.of(word, n, this.missing) })) };
  }
}

class Neighborhoods {
  private readonly ids: Int32Array;
  private readonly cosines: Float32Array;
  private readonly rows: Map<string, number>;

  constructor(private readonly from: Recorded["neighbors"][string]) {
    this.ids = new Int32Array(fromBase64(from.ids));
    this.cosines = new Float32Array(fromBase64(from.cosines));
    this.rows = new Map(from.words.map((word, id) => [word, id]));
  }

  of(word: string, n: number, missing: (what: string) => string): { word: string; score: number }[] {
    const row = this.rows.get(word);
    if (row === undefined) throw new Problem(missing(word), "OutOfVocabulary");
    const { k, words } = this.from;
    return Array.from({ length: Math.min(n, k) }, (_, at) => ({
      word: words[this.ids[row * k + at]],
      score: this.cosines[row * k + at],
    })).filter((each) => each.word !== undefined);
  }
}
