// Characters that a reader does not see, or that move others: they are shown by their number.

const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu;

export type Part = { text: string; hidden: boolean };

/** The text in parts; a hidden part is the name of one character. */
export function parts(text: string): Part[] {
  const found: Part[] = [];
  let at = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > at) found.push({ text: text.slice(at, match.index), hidden: false });
    found.push({ text: name(match[0]), hidden: true });
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push({ text: text.slice(at), hidden: false });
  return found;
}

export const name = (character: string): string => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** How many characters of a text nobody sees. */
export const countHidden = (text: string): number => [...text.matchAll(HIDDEN)].length;

/** For titles and labels: one line, nothing hidden. */
export const plain = (text: string): string => text.replace(HIDDEN, name).replace(/\s+/g, " ").trim();
