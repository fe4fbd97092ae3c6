// The words to filter rows with, as src/acpella/inspector/filters.py reads them; tests hold both to one meaning.
import type { Row } from "./model";

export const KEYS = ["method", "update", "kind", "dir", "session", "id", "c", "bad"] as const;
type Key = (typeof KEYS)[number];
type Test = (row: Row, rules: readonly string[]) => boolean;

export interface Filter { tests: Test[]; words: { wanted: boolean; text: string }[]; error: string }

const WORD = /(-?)(?:"([^"]*)"|(\S+))/g;
const NUMBER = /^(ms|size)([<>])(\d+(?:\.\d+)?)([kKM]?)$/;
const NO_NUMBER = /^(ms|size)[<>]/;
const SCALE: Record<string, number> = { "": 1, k: 1000, K: 1000, M: 1_000_000 };

/** Kinds as the list of rows shortens them; both words count. */
const BADGES: Record<string, string | undefined> = { std: "text", log: "stderr", sys: "event" };

/** All that can stand behind some colons. */
const VALUES: Record<string, readonly string[] | undefined> = { kind: ["req", "ntf", "res", "err", "text", "stderr", "event"], dir: ["in", "out"] };

/** The words of a filter as they were written. */
export function wordsOf(text: string): string[] {
  return [...text.matchAll(WORD)].map(([word]) => word);
}

export function parseFilter(text: string): Filter {
  const filter: Filter = { tests: [], words: [], error: "" };
  for (const [, sign, quoted, word] of text.matchAll(WORD)) {
    const wanted = sign === "";
    if (word === undefined) {
      if (quoted) filter.words.push({ wanted, text: quoted.toLowerCase() });
      continue;
    }
    const number = NUMBER.exec(word);
    const colon = word.indexOf(":");
    const key = colon < 0 ? "" : word.slice(0, colon);
    const typed = word.slice(colon + 1);
    const value = (key === "kind" && BADGES[typed.toLowerCase()]) || typed.toLowerCase();
    const known = VALUES[key];
    if (number) filter.tests.push(numberTest(number[1]!, number[2]!, Number(number[3]) * SCALE[number[4]!]!, wanted));
    else if (NO_NUMBER.test(word)) filter.error ||= `${NO_NUMBER.exec(word)![0]} wants a number after it, such as ${NO_NUMBER.exec(word)![0]}500`;
    else if (known && value !== "" && !known.includes(value) && !/[*?]/.test(value)) filter.error ||= `there is no ${key}:${value}; use ${known.join(", ")}`;
    else if ((KEYS as readonly string[]).includes(key)) filter.tests.push(keyTest(key as Key, value, wanted));
    else if (/^[a-z]+$/.test(key) && !value.startsWith("//")) filter.error ||= `${key}: is not a filter; there are ${KEYS.join(", ")}, ms>N, size>N, and text`;
    else filter.words.push({ wanted, text: word.toLowerCase() });
  }
  return filter;
}

function numberTest(name: string, sign: string, limit: number, wanted: boolean): Test {
  return (row) => {
    const value = name === "ms" ? (row.took ?? -1) * 1000 : (row.size ?? 0);
    return (value >= 0 && (sign === ">" ? value > limit : value < limit)) === wanted;
  };
}

function keyTest(key: Key, value: string, wanted: boolean): Test {
  const pattern = glob(value);
  return (row, rules) => {
    if (key === "bad") return (value === "" ? rules.length > 0 : rules.some((rule) => pattern.test(rule.toLowerCase()))) === wanted;
    const actual = String(row[key] ?? (key === "c" ? 1 : "")).toLowerCase();
    let holds = pattern.test(actual);
    if (key === "session" && value !== "" && actual !== "") holds ||= actual.startsWith(value) || actual.endsWith(value);
    return holds === wanted;
  };
}

function glob(value: string): RegExp {
  const escaped = value.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".");
  return new RegExp(`^${escaped}$`, "s");
}
