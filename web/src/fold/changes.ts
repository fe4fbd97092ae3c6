// Which files a conversation has changed, and by how many lines.
import { asText, type Obj } from "../wire/types";
import { diffsOf } from "./fold";
import { compareLines } from "./lines";
import type { Conversation, Item, ToolItem } from "./model";

export interface Change {
  path: string;
  added: number;
  removed: number;
}

const counts = new WeakMap<Obj, [number, number]>();

/** Lines added and removed by one diff. */
export function count(diff: Obj): [number, number] {
  let known = counts.get(diff);
  if (known === undefined) {
    known = [0, 0];
    for (const { kind, lines } of compareLines(asText(diff.oldText), asText(diff.newText))) {
      if (kind !== "same") known[kind === "add" ? 0 : 1] += lines.length;
    }
    counts.set(diff, known);
  }
  return known;
}

/** The changes by those of these items that were completed, by file. */
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
