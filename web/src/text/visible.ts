// Characters that a reader does not see, or that move, cover or push away others: they are shown by their number.

/** Blanks and empty lines in a row that are shown as they are; more of them push what follows out of sight. */
const LONGEST_GAP = 40;
const MOST_EMPTY_LINES = 4;
/** Marks on one letter; more of them paint over other lines. */
const MOST_MARKS = 4;

const PICTURE = "[\\p{So}\\p{Sk}\\p{Extended_Pictographic}]";

/** Marks that put one letter under another, and the letters of their scripts (Burmese, Khmer, Tai Tham, Chakma); beside any others they draw nothing. */
const JOINED = [
  ["\\u1039", "[\\u1000-\\u1038\\u103a-\\u109f]"],
  ["\\u17d2", "[\\u1780-\\u17b3\\u17b6-\\u17d1\\u17d3]"],
  ["\\u1a60", "[\\u1a20-\\u1a5e\\u1a61-\\u1a7c]"],
  ["\\u{11133}", "[\\u{11103}-\\u{11132}\\u{11144}-\\u{11147}]"],
] as const;

const HIDDEN = new RegExp(
  [
    `(?<blanks>[ \\t]{${LONGEST_GAP},})`,
    `(?<lines>\\n(?:[ \\t]*\\n){${MOST_EMPTY_LINES},})`,
    "(?![ \\t\\n\\u200d]|\\r\\n)[\\p{C}\\p{Z}]", // what is not printed; a joiner may belong to a picture
    `(?<!${PICTURE}\\ufe0f?)\\u200d|\\u200d(?!${PICTURE})`,
    `(?<!${PICTURE})\\ufe0f`,
    // letters and marks that draw nothing, or strike out others
    "[\\u0334-\\u0338\\u034f\\u0488\\u0489\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u1abe\\u20d0-\\u20ff\\u2800\\u3164\\ua670-\\ua672\\ufe00-\\ufe0e\\uffa0]",
    "[\\u{16fe4}\\u{1d159}\\u{e0100}-\\u{e01ef}]",
    ...JOINED.map(([mark, letters]) => `(?<!${letters})${mark}|${mark}(?!${letters})`),
    "[\\u1bab\\u2d7f\\uaaf6\\u{10a3f}\\u{1107f}\\u{113d0}\\u{1193e}\\u{11a47}\\u{11a99}\\u{11d45}\\u{11d97}\\u{11f42}\\u{1612f}]", // such marks of scripts that are hardly written
    `(?<=\\p{Mn}{${MOST_MARKS}})\\p{Mn}`,
  ].join("|"),
  "gu",
);

export type Part = { text: string; hidden: boolean };

/** The text in parts; a hidden part is the name of what cannot be seen. */
export function parts(text: string): Part[] {
  const all: Part[] = [];
  let at = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > at) all.push({ text: text.slice(at, match.index), hidden: false });
    if (match.groups?.lines === undefined) all.push({ text: name(match[0]), hidden: true });
    else all.push({ text: "\n", hidden: false }, { text: name(match[0]), hidden: true }, { text: "\n", hidden: false });
    at = match.index + match[0].length;
  }
  if (at < text.length) all.push({ text: text.slice(at), hidden: false });
  return all;
}

function name(hidden: string): string {
  if (hidden.startsWith("\n")) return `[${hidden.split("\n").length - 2} empty lines]`;
  if (hidden.length >= LONGEST_GAP) return `[${hidden.length} blanks]`;
  return `U+${(hidden.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The text where there is room for text alone. */
export const revealed = (text: string): string => parts(text).map((part) => part.text).join("");

/** How much of a text nobody sees: characters, or long gaps. */
export const countHidden = (text: string): number => [...text.matchAll(HIDDEN)].length;

/** For titles and labels: one line, nothing hidden. */
export const plain = (text: string): string => text.replace(/\s*\n\s*|[ \t]+/g, " ").replace(HIDDEN, name).trim();
