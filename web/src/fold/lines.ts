// Two texts compared line by line, in a time that grows with their length, however much differs.
import { diffLines } from "../libraries";

export type Hunk = { kind: "same" | "add" | "del"; lines: string[] };

/** Lines that are compared one by one. Beyond this, lines that stand once in both texts are found first. */
const MOST_LINES = 2000;
/** Differing lines beyond which everything counts as replaced: the cost of comparing grows with their square. */
const MOST_EDITS = 1500;

/** What is equal, added and removed. A line keeps the character that ends it: the last one may have none. */
export function compareLines(before: string, after: string): Hunk[] {
  const hunks: Hunk[] = [];
  compare(split(before), split(after), hunks, true);
  return hunks;
}

const split = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

function put(hunks: Hunk[], kind: Hunk["kind"], lines: string[]): void {
  const last = hunks.at(-1);
  if (last?.kind === kind) for (const line of lines) last.lines.push(line);
  else if (lines.length > 0) hunks.push({ kind, lines });
}

function compare(old: string[], now: string[], hunks: Hunk[], anchored: boolean): void {
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  put(hunks, "same", old.slice(0, head));
  between(old.slice(head, old.length - tail), now.slice(head, now.length - tail), hunks, anchored);
  put(hunks, "same", old.slice(old.length - tail));
}

function between(old: string[], now: string[], hunks: Hunk[], anchored: boolean): void {
  const pairs = anchored && old.length + now.length > MOST_LINES ? anchors(old, now) : [];
  if (pairs.length > 0) {
    let [o, n] = [0, 0];
    for (const [atOld, atNow] of [...pairs, [old.length, now.length] as const]) {
      compare(old.slice(o, atOld), now.slice(n, atNow), hunks, false);
      put(hunks, "same", old.slice(atOld, atOld + 1));
      [o, n] = [atOld + 1, atNow + 1];
    }
    return;
  }
  const parts = old.length * now.length <= 1 ? undefined : diffLines(old.join(""), now.join(""), { maxEditLength: MOST_EDITS });
  if (parts === undefined) {
    put(hunks, "del", old);
    put(hunks, "add", now);
  } else for (const part of parts) put(hunks, part.added ? "add" : part.removed ? "del" : "same", split(part.value));
}

/** Places of lines that occur once in each text: the longest run of them that has the same order in both. */
function anchors(old: string[], now: string[]): [number, number][] {
  const places = (lines: string[]): Map<string, number> => {
    const found = new Map<string, number>();
    lines.forEach((line, at) => found.set(line, found.has(line) ? -1 : at));
    return found;
  };
  const inNow = places(now);
  type Link = { at: [number, number]; before: Link | undefined };
  const ends: Link[] = []; // the lowest end of an ordered run of each length
  for (const [line, atOld] of places(old)) {
    const atNow = inNow.get(line) ?? -1;
    if (atOld < 0 || atNow < 0) continue;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle]!.at[1] < atNow) low = middle + 1;
      else high = middle;
    }
    ends[low] = { at: [atOld, atNow], before: ends[low - 1] };
  }
  const found: [number, number][] = [];
  for (let link = ends.at(-1); link !== undefined; link = link.before) found.push(link.at);
  return found.reverse();
}
