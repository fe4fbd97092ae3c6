// What the page knows: its connection, the sessions, and the conversation of each one that was opened.
import { empty, fold } from "./fold/fold";
import type { Conversation } from "./fold/model";
import { batch, computed, effect, signal, type Signal } from "./libraries";
import { Connection, Lost, WireError, type Passed } from "./wire/connection";
import { asList, asObj, asText, isObj, type Entry, type Json, type LogEvent, type Obj, type Person, type Switch } from "./wire/types";

export const connection = new Connection();
export const entries = signal<Map<string, Entry>>(new Map());
export const current = signal<string | null>(null);
export const problem = signal<string>("");
/** What passed on this page's own connection, newest last; a stream is one line. */
export interface WireLine {
  out: boolean;
  name: string;
  count: number;
  at: number;
}
export const wire = signal<WireLine[]>([]);
const WIRE_KEPT = 100;
const WIRE_EVERY = 250;

export interface Draft {
  text: string;
  attached: Obj[];
}
const NOTHING: Draft = { text: "", attached: [] };
/** What is being written before there is a session. */
export const firstDraft = signal<Draft>(NOTHING);

const UNSENT = "acpella.unsent.";

/** What was written for a session and not sent when this tab was loaded again. */
function unsent(id: string): Draft {
  try {
    return JSON.parse(sessionStorage.getItem(UNSENT + id)!) ?? NOTHING;
  } catch {
    return NOTHING;
  }
}

/** What waits its turn is kept as a draft: if it were sent by itself, a copy of this tab would send it, too. */
function keepUnsent(id: string, queue: Queued[], draft: Draft): void {
  const blocks = queue.flatMap((one) => one.blocks);
  const texts = [...blocks.filter((one) => one.type === "text").map((one) => asText(one.text)), draft.text].filter((text) => text !== "");
  const attached = [...blocks.filter((one) => one.type === "image" || one.type === "audio"), ...draft.attached];
  try {
    if (texts.length + attached.length === 0) sessionStorage.removeItem(UNSENT + id);
    else sessionStorage.setItem(UNSENT + id, JSON.stringify({ text: texts.join("\n\n"), attached }));
  } catch {
    // no room for large pictures: they are lost with the tab
  }
}

export interface Queued {
  key: number;
  blocks: Obj[];
}

/** Characters that are folded for one frame. Without it, the first frame after a stall would take very long. */
const FRAME_CHARACTERS = 24_000;
const EVENT_CHARACTERS = 20;

/** A session that was opened here. */
export class Talk {
  conversation: Conversation = empty();
  epoch = "";
  /** Grows when the conversation has changed and it is time to draw. */
  readonly version = signal(0);
  readonly people = signal<Person[]>([]);
  readonly role = signal<"controller" | "observer">("controller");
  readonly queue = signal<Queued[]>([]);
  readonly loading = signal(false);
  readonly failure = signal("");
  /** A prompt that is not answered yet. If the connection breaks, the log shows whether it arrived. */
  unsure: { blocks: Obj[]; after: number } | null = null;
  readonly draft: Signal<Draft>;
  opening = false;
  /** The number of the last event that was there when the session was opened; until it is here, the session loads. */
  awaited = 0;
  #drawing = false;
  #pending: LogEvent[] = [];

  constructor(readonly id: string) {
    this.draft = signal(unsent(id));
    effect(() => keepUnsent(id, this.queue.value, this.draft.value));
  }

  take(epoch: string, events: LogEvent[]): void {
    if (epoch !== this.epoch) {
      this.epoch = epoch;
      this.conversation = empty();
      this.#pending = [];
    }
    for (const event of events) this.#pending.push(event);
    this.draw();
  }

  /** Fold as much as one frame can draw: after a silence, thousands of updates may come at once. */
  #foldSome(): void {
    let room = document.hidden ? Infinity : FRAME_CHARACTERS;
    let at = 0;
    while (at < this.#pending.length && room > 0) {
      const event = this.#pending[at++]!;
      fold(this.conversation, event);
      room -= EVENT_CHARACTERS + asText(asObj(asObj(event.update).content).text).length;
    }
    this.#pending = at === this.#pending.length ? [] : this.#pending.slice(at);
    if (this.loading.value && this.conversation.n >= this.awaited) this.loading.value = false;
  }

  /** Draw once in a frame, however much has come. */
  draw(): void {
    if (this.#drawing) return;
    this.#drawing = true;
    const now = (): void => {
      this.#drawing = false;
      batch(() => {
        this.#foldSome();
        this.version.value++;
      });
      if (this.#pending.length > 0) this.draw();
      else this.#sendNext();
    };
    if (document.hidden) setTimeout(now, 100);
    else requestAnimationFrame(now);
  }

  /** Whether a prompt runs here, or is on its way, or cannot go yet because the session is being opened again. */
  get isBusy(): boolean {
    return this.conversation.turn !== null || this.unsure !== null || this.opening;
  }

  #sendNext(): void {
    const next = this.queue.value[0];
    if (next !== undefined && !this.isBusy && connection.link.value.state === "live") {
      this.queue.value = this.queue.value.slice(1);
      void send(this, next.blocks);
    }
  }
}

const talks = new Map<string, Talk>();

export function talkOf(id: string): Talk {
  let talk = talks.get(id);
  if (talk === undefined) {
    talk = new Talk(id);
    talks.set(id, talk);
  }
  return talk;
}

export const currentTalk = computed(() => (current.value === null ? null : talkOf(current.value)));
export const may = (scope: "prompt" | "approve"): boolean => connection.welcome.value?.scopes.includes(scope) ?? false;

// -- what the server tells ------------------------------------------------------------------------

connection.onNotification = (method, params) => {
  if (method === "_acpella/session/events") {
    talkOf(asText(params.sessionId)).take(asText(params.epoch), asList(params.events) as unknown as LogEvent[]);
  } else if (method === "_acpella/session/people") {
    talkOf(asText(params.sessionId)).people.value = asList(params.people) as unknown as Person[];
  } else if (method === "_acpella/sessions_changed") {
    const next = new Map(entries.value);
    for (const one of asList(params.sessions)) {
      const entry = asObj(one) as unknown as Entry;
      const before = next.get(entry.sessionId);
      next.set(entry.sessionId, { ...entry, title: entry.title ?? before?.title ?? null });
    }
    for (const id of asList(params.deleted)) forget(next, asText(id));
    entries.value = next;
  } else if (method === "_acpella/client_changed" && connection.welcome.value !== null) {
    connection.welcome.value = { ...connection.welcome.value, switches: asList(params.switches) as unknown as Switch[] };
  }
};

function forget(from: Map<string, Entry>, id: string): void {
  from.delete(id);
  talks.delete(id);
  if (current.value === id) show(null);
}

const lines: WireLine[] = [];
let wireDue = false;

connection.onFrame = (frame) => {
  for (const name of namesOf(frame)) {
    const last = lines.at(-1);
    if (last !== undefined && last.name === name && last.out === frame.out) {
      last.count++;
      last.at = frame.at;
    } else lines.push({ out: frame.out, name, count: 1, at: frame.at });
  }
  if (lines.length > WIRE_KEPT) lines.splice(0, lines.length - WIRE_KEPT);
  if (!wireDue) {
    wireDue = true;
    setTimeout(() => {
      wireDue = false;
      wire.value = [...lines];
    }, WIRE_EVERY);
  }
};

/** What a frame says in words of the protocol: events of a log are the agent's updates and questions. */
function namesOf(frame: Passed): string[] {
  const method = asText(frame.message.method);
  if (method !== "_acpella/session/events") return method === "" || method.startsWith("_acpella/") ? [] : [method];
  return asList(asObj(frame.message.params).events).map((one) => {
    const event = asObj(one);
    if (event.k === "update") return asText(asObj(event.update).sessionUpdate) || "session/update";
    return event.k === "ask" ? asText(event.method) : event.k === "end" ? "session/prompt answered" : "";
  }).filter((name) => name !== "");
}

connection.onReady = () => {
  void refresh();
  const id = current.value ?? new URLSearchParams(location.hash.slice(1)).get("session");
  if (id !== null) void open(id);
};

export async function refresh(): Promise<void> {
  try {
    const next = new Map<string, Entry>();
    if (isObj(asObj(connection.welcome.value?.agentCapabilities.sessionCapabilities).list)) {
      const known = asObj(await connection.request("session/list", {}));
      for (const one of asList(known.sessions).filter(isObj)) {
        if (typeof one.sessionId === "string") next.set(one.sessionId, { ...(one as unknown as Entry), cwd: asText(one.cwd), state: "idle", owner: connection.welcome.value?.user });
      }
    }
    const opened = asObj(await connection.request("_acpella/sessions", {}));
    for (const [id, name] of Object.entries(asObj(opened.names))) {
      const entry = next.get(id);
      if (entry !== undefined) next.set(id, { ...entry, title: asText(name) });
    }
    for (const one of asList(opened.sessions)) {
      const entry = asObj(one) as unknown as Entry;
      next.set(entry.sessionId, { ...entry, title: entry.title ?? next.get(entry.sessionId)?.title ?? null });
    }
    // keep sessions that were begun after the list was asked for
    for (const [id, entry] of entries.value) if (!next.has(id) && talks.has(id) && talks.get(id)!.epoch) next.set(id, entry);
    entries.value = next;
  } catch (error) {
    tell(error);
  }
}

/** Show what went wrong, unless it is only that the connection is lost, which the page shows anyway. */
export function tell(error: unknown): void {
  if (!(error instanceof Lost)) problem.value = error instanceof Error ? error.message : String(error);
}

// -- sessions -------------------------------------------------------------------------------------

export function show(id: string | null): void {
  current.value = id;
  history.replaceState(null, "", id === null ? location.pathname : `#session=${encodeURIComponent(id)}`);
}

/** Show a session, and read its log from where this page is. */
export async function open(id: string): Promise<void> {
  const talk = talkOf(id);
  show(id);
  if (connection.link.value.state !== "live") return;
  talk.loading.value = talk.epoch === "";
  talk.failure.value = "";
  talk.opening = true;
  try {
    await watch(talk);
  } catch (error) {
    talk.loading.value = false;
    if (error instanceof WireError) talk.failure.value = error.message;
  } finally {
    talk.opening = false;
    talk.draw(); // a prompt may wait
  }
}

async function watch(talk: Talk): Promise<void> {
  const ask = async (): Promise<void> => {
    const result = asObj(await connection.request("_acpella/session/watch", { sessionId: talk.id, epoch: talk.epoch, after: talk.conversation.n }));
    talk.awaited = Number(result.last);
    talk.role.value = result.role === "observer" ? "observer" : "controller";
    settleUnsure(talk, asText(result.epoch), Number(result.last));
  };
  try {
    await ask();
  } catch (error) {
    if (!(error instanceof WireError) || error.code !== -32002) throw error;
    const cwd = entries.value.get(talk.id)?.cwd ?? connection.welcome.value?.cwd ?? "/";
    await connection.request("session/load", { sessionId: talk.id, cwd, mcpServers: [] });
    await ask();
  }
}

/** A prompt that nobody took goes back to the composer, unless something else is written there. */
function giveBack(talk: Talk, blocks: Obj[]): void {
  if (talk.draft.value.text === "") talk.draft.value = { text: blocks.map((one) => asText(one.text)).join(""), attached: blocks.filter((one) => one.type !== "text") };
}

/** A prompt that was on its way when the connection broke comes back to the composer unless the log has it. */
function settleUnsure(talk: Talk, epoch: string, last: number): void {
  const unsure = talk.unsure;
  talk.unsure = null;
  if (unsure === null) return;
  const settle = (): void => {
    const words = JSON.stringify(unsure.blocks);
    const arrived = talk.conversation.items.some((item) => item.kind === "prompt" && (epoch !== talk.epoch || Number(item.key.slice(1)) > unsure.after) && JSON.stringify(item.blocks.map((one) => one.raw)) === words);
    if (!arrived) giveBack(talk, unsure.blocks);
  };
  const wait = setInterval(() => {
    if (talk.epoch === epoch && talk.conversation.n >= last) {
      clearInterval(wait);
      settle();
    }
  }, 50);
  setTimeout(() => clearInterval(wait), 5000);
}

export async function begin(cwd?: string): Promise<Talk | null> {
  try {
    const result = asObj(await connection.request("session/new", { cwd: cwd ?? connection.welcome.value?.cwd ?? "/", mcpServers: [] }));
    const talk = talkOf(asText(result.sessionId));
    await watch(talk);
    batch(() => {
      // what was typed while the session began is kept in it
      talk.draft.value = firstDraft.value;
      firstDraft.value = NOTHING;
      show(talk.id);
    });
    return talk;
  } catch (error) {
    tell(error);
    return null;
  }
}

// -- what a person does ---------------------------------------------------------------------------

let queued = 0;
let beginning: Promise<Talk | null> | null = null;

/** Send a prompt, or let it wait while a turn runs. */
export async function prompt(blocks: Obj[]): Promise<void> {
  const talk = currentTalk.value ?? (await (beginning ??= begin().finally(() => (beginning = null))));
  if (talk === null) return;
  if (talk.isBusy || talk.queue.value.length > 0) talk.queue.value = [...talk.queue.value, { key: ++queued, blocks }];
  else await send(talk, blocks);
}

async function send(talk: Talk, blocks: Obj[]): Promise<void> {
  talk.unsure = { blocks, after: talk.conversation.n };
  try {
    await connection.request("session/prompt", { sessionId: talk.id, prompt: blocks });
    talk.unsure = null;
  } catch (error) {
    if (error instanceof WireError) {
      talk.unsure = null;
      // other errors are in the log
      if (error.code === -32002 || error.code === -32003) {
        tell(error);
        giveBack(talk, blocks);
      }
    }
  }
  talk.draw(); // the next one may wait
}

export function stop(): void {
  const talk = currentTalk.value;
  if (talk !== null) connection.notify("session/cancel", { sessionId: talk.id });
}

export async function answer(talk: Talk, question: number, result: Json): Promise<void> {
  try {
    await connection.request("_acpella/session/answer", { sessionId: talk.id, question, result });
  } catch (error) {
    tell(error);
  }
}

/** Ask the agent for something about the session; what comes of it is in the log. */
export async function change(method: string, params: Obj): Promise<Json> {
  const talk = currentTalk.value;
  if (talk === null) return null;
  try {
    return await connection.request(method, { sessionId: talk.id, ...params });
  } catch (error) {
    tell(error);
    return null;
  }
}

export async function fork(id: string): Promise<void> {
  try {
    const cwd = entries.value.get(id)?.cwd ?? connection.welcome.value?.cwd ?? "/";
    const result = asObj(await connection.request("session/fork", { sessionId: id, cwd, mcpServers: [] }));
    await refresh();
    await open(asText(result.sessionId));
  } catch (error) {
    tell(error);
  }
}

export async function remove(id: string): Promise<void> {
  try {
    await connection.request("session/delete", { sessionId: id });
    batch(() => {
      const next = new Map(entries.value);
      forget(next, id);
      entries.value = next;
    });
  } catch (error) {
    tell(error);
  }
}

/** Let the client do something, or not any more. The agent is started again and told so. */
export async function switchClient(name: string, on: boolean): Promise<void> {
  const switches = connection.welcome.value?.switches ?? [];
  const off = switches.filter((one) => (one.name === name ? !on : !one.on)).map((one) => one.name);
  try {
    connection.takeWelcome(await connection.request("_acpella/client", { off }));
  } catch (error) {
    tell(error);
  }
}

export async function rename(id: string, title: string): Promise<void> {
  try {
    await connection.request("_acpella/session/rename", { sessionId: id, title });
  } catch (error) {
    tell(error);
  }
}
