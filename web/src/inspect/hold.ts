// Messages that are held: what acts, what waits, and what a person does to it.
import { effect, signal } from "../libraries";
import type { Held, HoldState, Order, Rule } from "./model";
import { about, pause, source } from "./state";

export const setting = signal(false);
export const rule = signal<Rule | null>(null);
export const held = signal<readonly Held[]>([]);
export const holdProblem = signal("");
let changes = 0;
let watching = "";

function take(state: HoldState): void {
  rule.value = state.rule;
  held.value = state.held;
  changes = state.changes;
}

/** Ask for as long as messages can be held: a page that stops asking holds nothing any more. */
async function watch(id: string): Promise<void> {
  watching = id;
  changes = 0;
  while (watching === id && about.value?.source === id && about.value.can_hold) {
    try {
      const state = await source.held!(changes);
      if (watching !== id) return;
      take(state);
      if (state.ended === true) return; // there is nothing to ask for any more
    } catch (error) {
      rule.value = null;
      held.value = [];
      if (setting.value) holdProblem.value = error instanceof Error ? error.message : String(error);
    }
    if (rule.value === null) await pause(1000);
  }
  if (watching === id) watching = "";
}

effect(() => {
  const told = about.value;
  if (told === null || !told.can_hold) {
    rule.value = null;
    held.value = [];
    watching = "";
  } else if (watching !== told.source && source.held) void watch(told.source);
});

export async function order(what: Order): Promise<boolean> {
  try {
    holdProblem.value = "";
    take(await source.order!(what));
    return true;
  } catch (error) {
    holdProblem.value = error instanceof Error ? error.message : String(error);
    return false;
  }
}
