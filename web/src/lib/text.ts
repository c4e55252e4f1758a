// Words as they may be shown: a word of a file can be anything.

const LONGEST = 64;
// Characters without a look of their own that could change how their surroundings look: controls, marks of
// direction, separators of lines.
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function shown(word: string, longest = LONGEST): string {
  const visible = word.slice(0, 4 * longest).replace(INVISIBLE, (character) => {
    const code = character.charCodeAt(0);
    return code < 32 ? String.fromCharCode(0x2400 + code) : "\u2423";
  });
  const characters = [...visible];
  if (characters.length <= longest) return visible.trim() === "" ? `\u201c${visible}\u201d` : visible;
  return `${characters.slice(0, longest - 1).join("")}…`;
}

/** Words that were typed: separated by commas, white space or Chinese punctuation; quotes keep a space. */
export function typedWords(text: string): string[] {
  const found = text.match(/"[^"]+"|“[^”]+”|[^\s,，、;；]+/g) ?? [];
  const words = found.map((each) => each.replace(/^["“]|["”]$/g, ""));
  return [...new Set(words)].filter((each) => each !== "");
}

/** Whether what was typed is meant as a formula: a sign between spaces, or a Chinese one. */
export function looksLikeFormula(text: string): boolean {
  return /\S\s+[-+−－＋]\s+\S/.test(text) || /\S[＋－−]\S/.test(text);
}

export interface Term {
  sign: "+" | "−";
  word: string;
}

/** The words of a formula with their signs, as the server writes it: king - 2 * man + "new york". */
export function termsOf(formula: string): Term[] {
  const tokens = formula.match(/"(?:[^"\\]|\\.)+"|\S+/g) ?? [];
  const found: Term[] = [];
  let sign: Term["sign"] = "+";
  tokens.forEach((token, at) => {
    if (token === "+" || token === "-") sign = token === "-" ? "−" : "+";
    else if (token !== "*" && tokens[at + 1] !== "*") {
      const word = token.startsWith('"') ? token.slice(1, -1).replace(/\\(.)/g, "$1") : token;
      found.push({ sign, word });
    }
  });
  return found;
}

export function csv(rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => cells.map((cell) => csvCell(String(cell))).join(",");
  return `\ufeff${rows.map(line).join("\r\n")}\r\n`;
}

/** Quoted where needed; a cell that a spreadsheet would take for a formula starts with an apostrophe. */
function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^[-+]?[\d.]+(e[-+]?\d+)?$/i.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function escapedXml(text: string): string {
  return text
    .replace(INVISIBLE, "")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
