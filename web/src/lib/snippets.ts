// What is on the screen, as Python and as a command.

export type Body = Record<string, unknown>;

/** An analysis that was asked: its name, the inputs that are spaces or models, and the rest. */
export interface Asked {
  analysis: string;
  /** Input -> name of the space or model, in the order of the analysis. */
  opened: Record<string, string>;
  /** Positional inputs after these, such as words. */
  positional: readonly (string | readonly string[])[];
  /** Settings and named inputs. */
  named: Body;
  /** Named inputs that are files: the corpus, and the texts it was encoded from. */
  files?: { corpus?: string; text?: readonly string[] };
}

export type Files = Record<string, { path: string; kind: "vectors" | "model" }>;

export function asPython(asked: Asked, files: Files): string {
  const { corpus, text = [] } = asked.files ?? {};
  const lines = ["import inlaid"];
  if (corpus) lines.unshift("from pathlib import Path", "");
  if (corpus) lines.push("from inlaid.encode.corpus import open_corpus");
  lines.push("");
  const names: string[] = [];
  for (const [input, name] of Object.entries(asked.opened)) {
    const file = files[name];
    lines.push(`${input} = inlaid.${file?.kind === "model" ? "load_model" : "load"}(${python(file?.path ?? name)})`);
    names.push(input);
  }
  const positional = asked.positional.map((each) => python(each));
  const named = Object.entries(asked.named).map(([name, value]) => `${name}=${python(value)}`);
  if (corpus) named.push(`corpus=open_corpus(Path(${python(corpus)}))`);
  if (corpus && text.length) named.push(`text=[${text.map((each) => `Path(${python(each)})`).join(", ")}]`);
  const [first, ...others] = names;
  // Vectors have every analysis as a method; what models are asked is a function.
  const isModel = files[Object.values(asked.opened)[0]]?.kind === "model";
  const call = isModel ? `inlaid.${asked.analysis}` : `${first}.${asked.analysis}`;
  const given = isModel ? [first, ...others] : others;
  lines.push(`${call}(${[...given, ...positional, ...named].join(", ")})`);
  return lines.join("\n");
}

export function asCommand(asked: Asked, files: Files): string {
  const words = ["inlaid", asked.analysis.replaceAll("_", "-")];
  for (const name of Object.values(asked.opened)) words.push(quoted(files[name]?.path ?? name));
  for (const each of asked.positional) words.push(...(typeof each === "string" ? [each] : each).map(quoted));
  for (const [name, value] of Object.entries(asked.named)) {
    const flag = name.length === 1 ? `-${name}` : `--${name.replace(/_$/, "").replaceAll("_", "-")}`;
    if (value === true) words.push(flag);
    else if (Array.isArray(value)) words.push(flag, ...value.map((each) => quoted(String(each))));
    else if (value !== false && value !== null) words.push(flag, quoted(String(value)));
  }
  if (asked.files?.corpus) words.push("--corpus", quoted(asked.files.corpus));
  if (asked.files?.corpus && asked.files.text?.length) words.push("--text", ...asked.files.text.map(quoted));
  return words.join(" ");
}

function python(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  return JSON.stringify(value);
}

/** For a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./\p{Script=Han}-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}
