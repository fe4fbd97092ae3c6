// Which files a conversation has changed, and by how many lines.
import { diffLines } from "../libraries";
import { asText, type Obj } from "../wire/types";
import { diffsOf } from "./fold";
import type { Conversation, Item, ToolItem } from "./model";

export interface Change {
  path: string;
  added: number;
  removed: number;
}

const counts = new WeakMap<Obj, [number, number]>();
const MOST = 400_000;
/** Lines that may differ before all counts as replaced: comparing costs the square of them. */
export const MOST_EDITS = 1500;

/** Lines added and removed by one diff. */
export function count(diff: Obj): [number, number] {
  let known = counts.get(diff);
  if (known === undefined) {
    const before = asText(diff.oldText);
    const after = asText(diff.newText);
    if (before.length + after.length > MOST) known = [lines(after), lines(before)];
    else {
      known = [0, 0];
      for (const part of diffLines(before, after, { maxEditLength: MOST_EDITS }) ?? [{ added: true, count: lines(after) }, { removed: true, count: lines(before) }]) {
        if (part.added) known[0] += part.count ?? 0;
        else if (part.removed) known[1] += part.count ?? 0;
      }
    }
    counts.set(diff, known);
  }
  return known;
}

const lines = (text: string): number => (text === "" ? 0 : text.split("\n").length);

/** The changes of these items that were not refused, by file. */
export function changesOf(items: Item[]): Change[] {
  const found = new Map<string, Change>();
  for (const item of items) {
    if (item.kind !== "tool" || item.status !== "completed") continue;
    for (const diff of diffsOf(item)) {
      const path = asText(diff.path);
      const [added, removed] = count(diff);
      const known = found.get(path) ?? { path, added: 0, removed: 0 };
      found.set(path, { path, added: known.added + added, removed: known.removed + removed });
    }
  }
  return [...found.values()];
}

/** Edits that wait for an answer. */
export const waitingEdits = (talk: Conversation): number =>
  [...talk.calls.values()].filter((call: ToolItem) => call.question !== null && diffsOf(call).length > 0).length;
