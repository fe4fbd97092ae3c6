// Events of a session's log → the conversation. Pure: no clock, no page; the same events always give the same.
import { asList, asNumber, asObj, asText, isObj, type Json, type LogEvent, type Obj } from "../wire/types";
import type { Block, Choice, Conversation, Item, PlanEntry, Setting, TextItem, ToolItem } from "./model";

/** Characters of a command's output that are kept. Without it, an agent that runs `yes` fills the memory. */
const OUTPUT_KEPT = 1024 * 1024;

export function empty(): Conversation {
  return {
    items: [], calls: new Map(), terminals: new Map(), questions: new Map(), plan: [], modes: null, models: null,
    options: [], commands: [], usage: {}, title: "", turn: null, n: 0, version: 0,
  };
}

/** Take an event in. One that was taken before changes nothing. */
export function fold(talk: Conversation, event: LogEvent): void {
  if (event.n <= talk.n) return;
  talk.n = event.n;
  talk.version++;
  switch (event.k) {
    case "update":
      return foldUpdate(talk, asObj(event.update), event.t);
    case "prompt":
      return foldPrompt(talk, event);
    case "end":
      return foldEnd(talk, event);
    case "ask":
      return foldQuestion(talk, event);
    case "answered":
      return foldAnswer(talk, event);
    case "terminal":
      return foldTerminal(talk, event);
    case "state":
      return foldState(talk, asObj(event.state));
    case "chosen":
      return foldChosen(talk, asText(event.what), asObj(event.params));
    case "gone":
      settle(talk, event.t);
      add(talk, { kind: "gone", reason: asText(event.reason), stderr: asText(event.stderr), ...base(talk, event.t) });
      talk.turn = null;
      return;
    case "turn":
      if (event.running !== true) return foldEnd(talk, event);
      talk.turn = { since: talk.items.findLast((item) => item.kind === "prompt")?.at ?? event.t, by: "", elsewhere: true };
      return;
    case "client": {
      const off = asList(event.off).map(asText).join(", ");
      add(talk, { kind: "note", text: `The agent was started again with a client ${off === "" ? "that can do everything" : `without ${off}`}`, ...base(talk, event.t) });
      return;
    }
    case "notice":
      add(talk, { kind: "unknown", name: asText(event.method), raw: event.params ?? null, ...base(talk, event.t) });
      return;
    default:
      add(talk, { kind: "unknown", name: event.k, raw: event as Obj, ...base(talk, event.t) });
  }
}

const base = (talk: Conversation, at: number) => ({ key: `i${talk.n}`, at, version: 0 });

function add<T extends Item>(talk: Conversation, item: T): T {
  talk.items.push(item);
  return item;
}

// -- what the agent says --------------------------------------------------------------------------

/** One `session/update`, as it stands in the protocol. */
export function foldUpdate(talk: Conversation, update: Obj, at: number): void {
  const kind = asText(update.sessionUpdate);
  switch (kind) {
    case "agent_message_chunk":
      return chunk(talk, "text", update, at);
    case "agent_thought_chunk":
      return chunk(talk, "thought", update, at);
    case "user_message_chunk":
      return userChunk(talk, update, at);
    case "tool_call":
    case "tool_call_update":
      return toolCall(talk, update, at);
    case "plan":
      talk.plan = asList(update.entries).filter(isObj).map(planEntry);
      return;
    case "plan_update": {
      const plan = asObj(update.plan);
      if (plan.type === "items") talk.plan = asList(plan.entries).filter(isObj).map(planEntry);
      return;
    }
    case "plan_removed":
      talk.plan = [];
      return;
    case "available_commands_update":
      talk.commands = asList(update.availableCommands).filter(isObj).map((one) => ({
        name: asText(one.name), description: asText(one.description), hint: asText(asObj(one.input).hint),
      }));
      return;
    case "current_mode_update":
      return choose(talk, "mode", asText(update.currentModeId));
    case "config_option_update":
      return foldState(talk, update);
    case "usage_update":
      talk.usage = { ...talk.usage, ...update };
      return;
    case "notice":
      add(talk, { kind: "notice", severity: asText(update.severity), title: asText(update.title), text: asText(update.description), ...base(talk, at) });
      return;
    case "session_info_update":
      if (typeof update.title === "string") talk.title = update.title;
      return;
    default:
      add(talk, { kind: "unknown", name: kind || "update", raw: update, ...base(talk, at) });
  }
}

function chunk(talk: Conversation, kind: "text" | "thought", update: Obj, at: number): void {
  const content = asObj(update.content);
  if (content.type !== "text" || typeof content.text !== "string") {
    add(talk, { kind: "media", block: block(content), ...base(talk, at) });
    return;
  }
  const messageId = typeof update.messageId === "string" ? update.messageId : null;
  const last = talk.items.at(-1);
  if (last !== undefined && last.kind === kind && (messageId === null || last.messageId === null || messageId === last.messageId)) {
    last.text += content.text;
    last.messageId ??= messageId;
    last.until = at;
    last.version++;
    return;
  }
  if (content.text === "") return;
  endText(last);
  add<TextItem>(talk, { kind, messageId, text: content.text, until: at, done: false, ...base(talk, at) });
}

function endText(item: Item | undefined): void {
  if (item !== undefined && (item.kind === "text" || item.kind === "thought") && !item.done) {
    item.done = true;
    item.version++;
  }
}

/** What a person said, as the agent tells it when a session is loaded. A prompt that was just sent is known. */
function userChunk(talk: Conversation, update: Obj, at: number): void {
  const last = talk.items.at(-1);
  const one = block(asObj(update.content));
  if (talk.turn !== null && talk.turn.elsewhere !== true && talk.items.some((item) => item.kind === "prompt" && item.at >= talk.turn!.since)) return;
  if (last?.kind === "prompt") {
    const before = last.blocks.at(-1);
    if (before?.type === "text" && one.type === "text") before.raw.text = asText(before.raw.text) + asText(one.raw.text);
    else last.blocks.push(one);
    last.version++;
    return;
  }
  settle(talk, at);
  add(talk, { kind: "prompt", by: asText(asObj(asObj(update._meta).acpella).by), blocks: [one], ...base(talk, at) });
}

function toolCall(talk: Conversation, update: Obj, at: number): void {
  const id = asText(update.toolCallId);
  let call = talk.calls.get(id);
  if (call === undefined) {
    endText(talk.items.at(-1));
    call = add<ToolItem>(talk, {
      kind: "tool", id, title: "", tool: "other", status: "pending", name: "", content: [], locations: [],
      rawInput: undefined, rawOutput: undefined, output: "", exit: null, until: 0, question: null, decision: null,
      ...base(talk, at),
    });
    talk.calls.set(id, call);
  }
  if (typeof update.title === "string") call.title = update.title;
  if (typeof update.kind === "string") call.tool = update.kind;
  if (typeof update.name === "string") call.name = update.name;
  if (typeof update.status === "string") call.status = update.status;
  if (Array.isArray(update.content)) call.content = update.content.filter(isObj);
  if (Array.isArray(update.locations)) call.locations = update.locations.filter(isObj);
  if (update.rawInput !== undefined) call.rawInput = update.rawInput;
  if (update.rawOutput !== undefined) call.rawOutput = update.rawOutput;
  const meta = asObj(update._meta);
  const data = asObj(meta.terminal_output).data;
  if (typeof data === "string") call.output = (call.output + data).slice(-OUTPUT_KEPT);
  if (isObj(meta.terminal_exit)) call.exit = meta.terminal_exit;
  if (!isOpen(call) && call.until === 0) call.until = at;
  call.version++;
}

export const isOpen = (call: ToolItem): boolean => call.status === "pending" || call.status === "in_progress";

/** The command that a call runs, without the shell around it; empty if its input names none. */
export function commandOf(rawInput: Json | undefined): string {
  const words = commandField(rawInput)?.words ?? [];
  const isShell = words.length === 3 && /^(\/\S*\/)?(ba|da|z|fi)?sh$/.test(words[0]!) && (words[1] === "-c" || words[1] === "-lc");
  return isShell ? words[2]! : words.join(" ");
}

/** The command of a call, every word of it, and what else goes into the call: for whoever decides on it. */
export function wholeCommand(rawInput: Json | undefined): { command: string; beside: Obj } {
  const field = commandField(rawInput);
  const beside = isObj(rawInput) ? Object.fromEntries(Object.entries(rawInput).filter(([name]) => name !== field?.name)) : rawInput == null ? {} : { input: rawInput };
  if (field === null) return { command: "", beside };
  return { command: field.isList ? field.words.map(quoted).join(" ") : field.words[0]!, beside };
}

/** Fields in which tools that edit name a piece of a file, and what stands there afterwards. */
const PIECES = [["old_string", "new_string"], ["oldString", "newString"], ["old_str", "new_str"], ["old_text", "new_text"], ["oldText", "newText"], ["old", "new"]] as const;

/** The fields that neither the one path of a call nor its diffs tell. Only whole values count: a part may stand there by chance, or to hide it. */
export function untold(fields: Obj, diffs: Obj[], paths: string[], cwd: string): Obj {
  const told = new Set(diffs.flatMap((one) => [asText(one.oldText), asText(one.newText)]));
  if (new Set(paths).size === 1) told.add(paths[0]!).add(relativePath(paths[0]!, cwd)); // of several, only the name of a field says which is which
  told.delete("");
  const isReplaced = (old: Json | undefined, next: Json | undefined): boolean =>
    typeof old === "string" && typeof next === "string" && old !== "" &&
    diffs.some((one) => asText(one.oldText) !== "" && asText(one.oldText) !== asText(one.newText) && [asText(one.oldText).replace(old, () => next), asText(one.oldText).replaceAll(old, () => next)].includes(asText(one.newText)));
  const pieces = new Set(PIECES.filter(([old, next]) => isReplaced(fields[old], fields[next])).flat() as string[]);
  const isTold = (value: Json | undefined): boolean => typeof value === "string" && told.has(value);
  const isAllTold = (value: Json | undefined): boolean => (Array.isArray(value) ? value.length > 0 && value.every(isTold) : isTold(value));
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => !pieces.has(name) && !isAllTold(value)));
}

/** From the directory that the session is about, if it is beneath. */
function relativePath(path: string, cwd: string): string {
  const root = `${cwd.replace(/\/+$/, "")}/`;
  return cwd !== "" && path.startsWith(root) ? path.slice(root.length) : path;
}

function commandField(rawInput: Json | undefined): { name: string; words: string[]; isList: boolean } | null {
  const raw = asObj(rawInput);
  for (const name of ["command", "cmd"]) {
    const value = raw[name];
    if (Array.isArray(value) && value.length > 0) return { name, words: value.map((word) => (typeof word === "string" ? word : JSON.stringify(word))), isList: true };
    if (typeof value === "string" && value !== "") return { name, words: [value], isList: false };
  }
  return null;
}

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

const planEntry = (one: Obj): PlanEntry => ({ content: asText(one.content), status: asText(one.status) || "pending", priority: asText(one.priority) });

const block = (raw: Obj): Block => ({ type: asText(raw.type) || "unknown", raw: { ...raw } });

// -- turns ----------------------------------------------------------------------------------------

function foldPrompt(talk: Conversation, event: LogEvent): void {
  settle(talk, event.t);
  talk.turn = { since: event.t, by: asText(event.by) };
  add(talk, { kind: "prompt", by: asText(event.by), blocks: asList(event.prompt).filter(isObj).map(block), ...base(talk, event.t) });
}

function foldEnd(talk: Conversation, event: LogEvent): void {
  const since = talk.turn?.since ?? 0;
  talk.turn = null;
  const error = event.error;
  if (isObj(error)) {
    settle(talk, event.t);
    add(talk, { kind: "error", code: asNumber(error.code) ?? 0, message: asText(error.message), data: error.data ?? null, ...base(talk, event.t) });
    return;
  }
  const result = asObj(event.result);
  const stop = asText(result.stopReason) || "end_turn";
  settle(talk, event.t, stop === "cancelled" ? "cancelled" : "unfinished");
  // what looked like an answer at another place was the end of the turn
  if (stop === "cancelled") for (const call of talk.calls.values()) if (call.at >= since && call.decision?.elsewhere === true) call.decision = { ...call.decision, elsewhere: false };
  const calls = talk.items.filter((item): item is ToolItem => item.kind === "tool" && item.at >= since);
  const files = new Set(calls.flatMap((call) => diffsOf(call).map((one) => asText(one.path))));
  add(talk, { kind: "end", stop, ms: asNumber(event.ms) ?? 0, usage: asObj(result.usage), calls: calls.length, files: [...files], ...base(talk, event.t) });
}

/** Nothing more comes for what is open. */
function settle(talk: Conversation, at: number, status = "unfinished"): void {
  endText(talk.items.at(-1));
  for (const call of talk.calls.values()) {
    if (isOpen(call)) {
      call.status = status;
      call.until = at;
      call.version++;
    }
  }
}

export const diffsOf = (call: ToolItem): Obj[] => call.content.filter((one) => one.type === "diff" && typeof one.newText === "string");

// -- questions ------------------------------------------------------------------------------------

function foldQuestion(talk: Conversation, event: LogEvent): void {
  const number = asNumber(event.q) ?? 0;
  const params = asObj(event.params);
  talk.questions.set(number, { number, method: asText(event.method), params, at: event.t });
  const asked = asObj(params.toolCall);
  if (typeof asked.toolCallId === "string") {
    const known = talk.calls.get(asked.toolCallId);
    const before = known?.content ?? [];
    toolCall(talk, asked, event.t);
    const call = talk.calls.get(asked.toolCallId)!;
    // the words of a question may replace what was shown of the call: both are kept to decide on
    for (const one of before) if (!call.content.some((other) => JSON.stringify(other) === JSON.stringify(one))) call.content = [one, ...call.content];
    call.question = number;
  }
}

function foldAnswer(talk: Conversation, event: LogEvent): void {
  const number = asNumber(event.q) ?? 0;
  const question = talk.questions.get(number);
  talk.questions.delete(number);
  if (question === undefined) return;
  const outcome = asObj(asObj(event.result).outcome);
  const chosen = asList(question.params.options).filter(isObj).find((one) => one.optionId === outcome.optionId);
  const decision = {
    by: typeof event.by === "string" ? event.by : null,
    ms: asNumber(event.ms) ?? 0,
    elsewhere: event.elsewhere === true,
    name: asText(chosen?.name),
    optionKind: asText(chosen?.kind),
    cancelled: outcome.outcome !== "selected",
  };
  const call = [...talk.calls.values()].find((one) => one.question === number);
  if (call !== undefined) {
    call.question = null;
    call.decision = decision;
    call.version++;
  } else if (question.method === "elicitation/create") {
    const action = decision.elsewhere ? "elsewhere" : asText(asObj(event.result).action) || "cancel";
    const words: Record<string, string> = { accept: "answered", decline: "declined", cancel: "left unanswered", elsewhere: "answered elsewhere" };
    const text = `“${asText(question.params.message)}” was ${words[action] ?? action}${decision.by ? ` by ${decision.by}` : ""}`;
    add(talk, { kind: "note", text, ...base(talk, event.t) });
  }
}

// -- what the session is set to -------------------------------------------------------------------

function foldState(talk: Conversation, state: Obj): void {
  if (isObj(state.modes)) talk.modes = modeSetting(state.modes);
  if (isObj(state.models)) talk.models = modelSetting(state.models);
  if (Array.isArray(state.configOptions)) talk.options = state.configOptions.filter(isObj).map(optionSetting);
}

function foldChosen(talk: Conversation, what: string, params: Obj): void {
  if (what === "mode") choose(talk, "mode", asText(params.modeId));
  if (what === "model") choose(talk, "model", asText(params.modelId));
}

/** Settings are replaced, not changed: a view that has one draws again when it is another. */
function choose(talk: Conversation, category: "mode" | "model", value: string): void {
  if (category === "mode" && talk.modes !== null) talk.modes = { ...talk.modes, value };
  if (category === "model" && talk.models !== null) talk.models = { ...talk.models, value };
  talk.options = talk.options.map((option) => (option.category === category && option.choices.some((one) => one.id === value) ? { ...option, value } : option));
}

function modeSetting(modes: Obj): Setting {
  const choices = asList(modes.availableModes).filter(isObj).map((one) => choice(one, asText(one.id)));
  return { id: "mode", name: "Mode", description: "", category: "mode", type: "select", value: asText(modes.currentModeId), choices, how: "mode" };
}

function modelSetting(models: Obj): Setting {
  const choices = asList(models.availableModels).filter(isObj).map((one) => choice(one, asText(one.modelId)));
  return { id: "model", name: "Model", description: "", category: "model", type: "select", value: asText(models.currentModelId), choices, how: "model" };
}

function optionSetting(option: Obj): Setting {
  const choices: Choice[] = [];
  for (const one of asList(option.options).filter(isObj)) {
    if (Array.isArray(one.options)) {
      for (const inner of one.options.filter(isObj)) choices.push({ ...choice(inner, asText(inner.value)), group: asText(one.name) });
    } else choices.push(choice(one, asText(one.value)));
  }
  const value = typeof option.currentValue === "boolean" ? option.currentValue : asText(option.currentValue);
  return {
    id: asText(option.id), name: asText(option.name) || asText(option.id), description: asText(option.description),
    category: asText(option.category), type: asText(option.type) || "select", value, choices, how: "option",
  };
}

const choice = (one: Obj, id: string): Choice => ({ id, name: asText(one.name) || id, description: asText(one.description), group: "" });

/** What the composer offers: options of the session, and the older modes and models where no option says the same. */
export function settings(talk: Conversation): Setting[] {
  const covered = new Set(talk.options.map((one) => one.category));
  const older = [talk.modes, talk.models].filter((one): one is Setting => one !== null && one.choices.length > 0 && !covered.has(one.category));
  const rank = (one: Setting): number => ["mode", "model"].indexOf(one.category) + 1 || 9;
  return [...older, ...talk.options].sort((a, b) => rank(a) - rank(b));
}

// -- commands that run ----------------------------------------------------------------------------

function foldTerminal(talk: Conversation, event: LogEvent): void {
  const id = asText(event.id);
  const known = talk.terminals.get(id) ?? { id, command: "", output: "", exit: null, version: 0 };
  if (typeof event.command === "string") known.command = event.command;
  if (typeof event.data === "string") known.output = (known.output + event.data).slice(-OUTPUT_KEPT);
  if (isObj(event.exit)) known.exit = event.exit;
  known.version++;
  talk.terminals.set(id, known);
  for (const call of talk.calls.values()) if (call.content.some((one) => one.type === "terminal" && one.terminalId === id)) call.version++;
}

// -- what a whole turn came to --------------------------------------------------------------------

/** The agent's answer as one text, a blank line between its messages: a tool call or another id begins one. */
export function textOf(items: Item[]): string {
  let whole = "";
  let id: string | null = null;
  let another = false;
  for (const item of items) {
    if (item.kind === "tool") another = true;
    if (item.kind !== "text") continue;
    another ||= item.messageId !== null && id !== null && item.messageId !== id;
    id = item.messageId ?? id;
    if (!another) {
      whole += item.text;
      continue;
    }
    another = false;
    const ends = whole === "" ? 2 : /\n*$/.exec(whole)![0].length;
    const starts = /^\n*/.exec(item.text)![0].length;
    whole += "\n".repeat(Math.max(0, 2 - ends - starts)) + item.text;
  }
  return whole;
}
