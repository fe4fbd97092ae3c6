// A choice of a form as it is shown, here and in a terminal (cli/terminal/forms.py).

/** Texts that need quotes: their blanks are not seen, or they look like a text and what it sends. */
const UNCLEAR = /^$|^\s|\s$|\s\s|^"|\(sends /;

const quoted = (text: string): string => (UNCLEAR.test(text) ? `"${text.replaceAll('"', '\\"')}"` : text);

/** Its words, and what is sent for them if that is something else. */
export const choiceText = (value: string, words: string): string => (value === words ? quoted(words) : `${quoted(words)} (sends ${quoted(value)})`);
