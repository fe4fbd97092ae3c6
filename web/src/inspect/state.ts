// What the inspector knows and shows. Rows are folded and filtered here; the view only draws.
import { batch, computed, signal } from "../libraries";
import { parseFilter, wordsOf, type Filter } from "./filter";
import type { Batch, Conversation, Line, Row, Source, Times } from "./model";
import { LoginNeeded } from "./sources";

/** What the list shows in one line: a row, or the first of several that are pieces of one thing. */
export interface Shown { row: Row; count: number; size: number; last: Row; preview: string }

/** Characters of what the pieces of a folded row say together. */
const PREVIEW = 160;

export const rows: Row[] = [];
export const rules = new Map<number, string[]>();
/** Of a request: how long its answer took, and which row that is. */
export const answers = new Map<number, { took: number; row: number }>();
export const version = signal(0);
export const about = signal<Omit<Batch, "rows" | "rules"> | null>(null);
export const times = signal<Times | null>(null);
export const problem = signal("");
export const paused = signal(false);
export const folding = signal(true);
/** The words of the filter that stand as pieces of their own, and what is being typed behind them. */
export const settled = signal<readonly string[]>([]);
export const draft = signal("");
export const query = computed(() => [...settled.value, draft.value].join(" ").trim());
export const selected = signal(0);
export const line = signal<Line | null>(null);
/** Whether the server wants to know who is asking. */
export const lockedOut = signal(false);
/** Whether the conversation itself is beside the messages. */
export const chat = signal(false);
export const conversations = signal<readonly Conversation[]>([]);
/** The filter that the list follows. Text is in it only once it was searched, so that no row comes and goes. */
const applied = signal<{ tests: Filter["tests"]; text: Set<number> | null }>({ tests: [], text: null });
const opened = signal(new Set<number>());

export const filter = computed(() => parseFilter(query.value));

export const shown = computed<Shown[]>(() => {
  version.value;
  const { tests, text } = applied.value;
  const list: Shown[] = [];
  for (const row of rows) {
    if (text !== null && !text.has(row.n)) continue;
    if (tests.length > 0 && !tests.every((test) => test(row, rules.get(row.n) ?? []))) continue;
    const before = list.at(-1);
    if (folding.value && before && row.fold && row.fold === before.row.fold && row.c === before.row.c && !opened.value.has(before.row.n)) {
      before.count += 1;
      before.size += row.size ?? 0;
      before.last = row;
      if (before.preview.length < PREVIEW && row.kind === "ntf" && row.update?.endsWith("_chunk")) before.preview += row.preview ?? "";
    } else list.push({ row, count: 1, size: row.size ?? 0, last: row, preview: row.preview ?? "" });
  }
  return list;
});

const sessions = new Map<string, number>();

/** The colour of a session, one of four. */
export function sessionNumber(id: string): number {
  if (!sessions.has(id)) sessions.set(id, (sessions.size % 4) + 1);
  return sessions.get(id)!;
}

export let source: Source;
let run = 0;

/** Show a conversation from its beginning, and what comes. Ends when another one is chosen. */
export async function start(from: Source): Promise<void> {
  source = from;
  lockedOut.value = false;
  const mine = ++run;
  void list(mine);
  for (;;) {
    try {
      const got = await source.rows(rows.length);
      if (mine !== run) return;
      problem.value = "";
      take(got);
      if (got.live && got.source === "") continue; // nobody has said anything yet
      source.choose?.(got.source);
      if (!got.live && rows.length >= got.total) {
        await look();
        return;
      }
      if (got.rows.length < 5000) await look();
      while (paused.value) await pause(200);
    } catch (error) {
      if (mine !== run) return;
      problem.value = error instanceof Error ? error.message : String(error);
      if (error instanceof LoginNeeded) {
        lockedOut.value = true;
        return;
      }
      await pause(2000);
    }
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Which conversations there are, looked up now and then. */
async function list(mine: number): Promise<void> {
  while (mine === run && source.conversations) {
    try {
      const got = await source.conversations();
      batch(() => {
        conversations.value = got.sources;
        chat.value = got.chat;
      });
    } catch {
      // the rows tell what is wrong
    }
    await pause(3000);
  }
}

/** Look at another conversation. */
export function choose(id: string): void {
  source.choose?.(id);
  batch(() => {
    rows.length = 0;
    rules.clear();
    answers.clear();
    sessions.clear();
    about.value = null;
    times.value = null;
    apply(null);
    searched = 0;
    searches += 1;
    opened.value = new Set();
    selected.value = 0;
    line.value = null;
    version.value += 1;
  });
  void start(source);
}

function take({ rows: more, rules: broken, ...rest }: Batch): void {
  batch(() => {
    for (const row of more) {
      rows.push(row);
      if (row.pair !== undefined) answers.set(row.pair, { took: row.took ?? 0, row: row.n });
    }
    for (const [n, some] of Object.entries(broken)) rules.set(Number(n), some);
    about.value = rest;
    if (more.length > 0) version.value += 1;
  });
  if (more.length > 0 && wantsText()) void search(searched);
}

async function look(): Promise<void> {
  times.value = await source.times();
}

let searches = 0;
let searched = 0;

/** Text is searched where the messages are; what came meanwhile is searched alone. */
async function search(after = 0): Promise<void> {
  const mine = ++searches;
  const got = await source.search(query.value, after);
  if (mine !== searches) return;
  const next = after === 0 ? new Set<number>() : new Set(applied.value.text);
  for (const row of got.rows) next.add(row);
  searched = got.until;
  apply(next);
}

const wantsText = (): boolean => filter.value.words.length > 0 && filter.value.error === "";

/** Let the list follow the filter; one that is wrong filters nothing. */
function apply(text: Set<number> | null): void {
  applied.value = { tests: filter.value.error === "" ? filter.value.tests : [], text };
}

export function setFilter(words: readonly string[], typed: string): void {
  settled.value = words;
  draft.value = typed;
  searched = 0;
  searches += 1; // what is being searched is not wanted any more
  if (wantsText()) void search();
  else apply(null);
}

/** Make pieces of what is typed; false if it is no filter. */
export function settle(): boolean {
  if (parseFilter(draft.value).error !== "") return false;
  setFilter([...settled.value, ...wordsOf(draft.value)], "");
  return true;
}

/** Add a word to the filter, or take it away. */
export function toggleWord(word: string): void {
  const without = (words: readonly string[]): string[] => words.filter((each) => each !== word);
  if (hasWord(word)) setFilter(without(settled.value), without(wordsOf(draft.value)).join(" "));
  else setFilter([...settled.value, word], draft.value);
}

export function hasWord(word: string): boolean {
  return wordsOf(query.value).includes(word);
}

export async function select(n: number): Promise<void> {
  selected.value = n;
  line.value = null;
  if (n === 0) return;
  const got = await source.line(n);
  if (selected.value === n) line.value = got;
}

/** Show the pieces of a folded row one by one, or as one again. */
export function unfold(n: number): void {
  const next = new Set(opened.value);
  if (!next.delete(n)) next.add(n);
  opened.value = next;
}

/** Step through the rows that are shown. */
export function step(by: number): void {
  const list = shown.value;
  const at = list.findIndex((each) => each.row.n <= selected.value && selected.value <= each.last.n);
  const next = list[Math.min(list.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
  if (next) void select(next.row.n);
}

/** The other half of a request or a response. */
export function pairOf(n: number): number {
  return answers.get(n)?.row ?? rows[n - 1]?.pair ?? 0;
}

export const canSave = (): boolean => source?.save !== undefined;
export const save = (): void => void source.save?.();
