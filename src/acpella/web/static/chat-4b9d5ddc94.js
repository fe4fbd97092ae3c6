// src/view/page.tsx
import { useEffect as useEffect8 } from "./libraries-c0a40985b0.js";

// src/wire/types.ts
var isObj = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
var asObj = (value) => isObj(value) ? value : {};
var asList = (value) => Array.isArray(value) ? value : [];
var asText = (value) => typeof value === "string" ? value : "";
var asNumber = (value) => typeof value === "number" && Number.isFinite(value) ? value : null;

// src/fold/fold.ts
var OUTPUT_KEPT = 1024 * 1024;
function empty() {
  return {
    items: [],
    calls: /* @__PURE__ */ new Map(),
    terminals: /* @__PURE__ */ new Map(),
    questions: /* @__PURE__ */ new Map(),
    plan: [],
    modes: null,
    models: null,
    options: [],
    commands: [],
    usage: {},
    title: "",
    turn: null,
    n: 0,
    version: 0
  };
}
function fold(talk, event) {
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
      add(talk, { kind: "unknown", name: event.k, raw: event, ...base(talk, event.t) });
  }
}
var base = (talk, at) => ({ key: `i${talk.n}`, at, version: 0 });
function add(talk, item) {
  talk.items.push(item);
  return item;
}
function foldUpdate(talk, update, at) {
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
    case "available_commands_update":
      talk.commands = asList(update.availableCommands).filter(isObj).map((one) => ({
        name: asText(one.name),
        description: asText(one.description),
        hint: asText(asObj(one.input).hint)
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
function chunk(talk, kind, update, at) {
  const content = asObj(update.content);
  if (content.type !== "text" || typeof content.text !== "string") {
    add(talk, { kind: "media", block: block(content), ...base(talk, at) });
    return;
  }
  const messageId = typeof update.messageId === "string" ? update.messageId : null;
  const last = talk.items.at(-1);
  if (last !== void 0 && last.kind === kind && (messageId === null || last.messageId === null || messageId === last.messageId)) {
    last.text += content.text;
    last.messageId ??= messageId;
    last.until = at;
    last.version++;
    return;
  }
  if (content.text === "") return;
  endText(last);
  add(talk, { kind, messageId, text: content.text, until: at, done: false, ...base(talk, at) });
}
function endText(item) {
  if (item !== void 0 && (item.kind === "text" || item.kind === "thought") && !item.done) {
    item.done = true;
    item.version++;
  }
}
function userChunk(talk, update, at) {
  const last = talk.items.at(-1);
  const one = block(asObj(update.content));
  if (talk.turn !== null && talk.turn.elsewhere !== true && talk.items.some((item) => item.kind === "prompt" && item.at >= talk.turn.since)) return;
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
function toolCall(talk, update, at) {
  const id = asText(update.toolCallId);
  let call = talk.calls.get(id);
  if (call === void 0) {
    endText(talk.items.at(-1));
    call = add(talk, {
      kind: "tool",
      id,
      title: "",
      tool: "other",
      status: "pending",
      name: "",
      content: [],
      locations: [],
      rawInput: void 0,
      rawOutput: void 0,
      output: "",
      exit: null,
      until: 0,
      question: null,
      decision: null,
      ...base(talk, at)
    });
    talk.calls.set(id, call);
  }
  if (typeof update.title === "string") call.title = update.title;
  if (typeof update.kind === "string") call.tool = update.kind;
  if (typeof update.name === "string") call.name = update.name;
  if (typeof update.status === "string") call.status = update.status;
  if (Array.isArray(update.content)) call.content = update.content.filter(isObj);
  if (Array.isArray(update.locations)) call.locations = update.locations.filter(isObj);
  if (update.rawInput !== void 0) call.rawInput = update.rawInput;
  if (update.rawOutput !== void 0) call.rawOutput = update.rawOutput;
  const meta = asObj(update._meta);
  const data = asObj(meta.terminal_output).data;
  if (typeof data === "string") call.output = (call.output + data).slice(-OUTPUT_KEPT);
  if (isObj(meta.terminal_exit)) call.exit = meta.terminal_exit;
  if (!isOpen(call) && call.until === 0) call.until = at;
  call.version++;
}
var isOpen = (call) => call.status === "pending" || call.status === "in_progress";
function commandOf(rawInput) {
  const words = commandField(rawInput)?.words ?? [];
  const isShell = words.length === 3 && /^(\/\S*\/)?(ba|da|z|fi)?sh$/.test(words[0]) && (words[1] === "-c" || words[1] === "-lc");
  return isShell ? words[2] : words.join(" ");
}
function wholeCommand(rawInput) {
  const field = commandField(rawInput);
  const beside = isObj(rawInput) ? Object.fromEntries(Object.entries(rawInput).filter(([name2]) => name2 !== field?.name)) : rawInput == null ? {} : { input: rawInput };
  if (field === null) return { command: "", beside };
  return { command: field.isList ? field.words.map(quoted).join(" ") : field.words[0], beside };
}
function commandField(rawInput) {
  const raw = asObj(rawInput);
  for (const name2 of ["command", "cmd"]) {
    const value = raw[name2];
    if (Array.isArray(value) && value.length > 0) return { name: name2, words: value.map((word) => typeof word === "string" ? word : JSON.stringify(word)), isList: true };
    if (typeof value === "string" && value !== "") return { name: name2, words: [value], isList: false };
  }
  return null;
}
var quoted = (word) => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
var planEntry = (one) => ({ content: asText(one.content), status: asText(one.status) || "pending", priority: asText(one.priority) });
var block = (raw) => ({ type: asText(raw.type) || "unknown", raw: { ...raw } });
function foldPrompt(talk, event) {
  settle(talk, event.t);
  talk.turn = { since: event.t, by: asText(event.by) };
  add(talk, { kind: "prompt", by: asText(event.by), blocks: asList(event.prompt).filter(isObj).map(block), ...base(talk, event.t) });
}
function foldEnd(talk, event) {
  const since = talk.turn?.since ?? 0;
  talk.turn = null;
  const error = event.error;
  if (isObj(error)) {
    settle(talk, event.t);
    add(talk, { kind: "error", code: asNumber(error.code) ?? 0, message: asText(error.message), data: error.data ?? null, ...base(talk, event.t) });
    return;
  }
  const result = asObj(event.result);
  const stop2 = asText(result.stopReason) || "end_turn";
  settle(talk, event.t, stop2 === "cancelled" ? "cancelled" : "unfinished");
  if (stop2 === "cancelled") {
    for (const call of talk.calls.values()) if (call.at >= since && call.decision?.elsewhere === true) call.decision = { ...call.decision, elsewhere: false };
  }
  const calls = talk.items.filter((item) => item.kind === "tool" && item.at >= since);
  const files = new Set(calls.flatMap((call) => diffsOf(call).map((one) => asText(one.path))));
  add(talk, { kind: "end", stop: stop2, ms: asNumber(event.ms) ?? 0, usage: asObj(result.usage), calls: calls.length, files: [...files], ...base(talk, event.t) });
}
function settle(talk, at, status = "unfinished") {
  endText(talk.items.at(-1));
  for (const call of talk.calls.values()) {
    if (isOpen(call)) {
      call.status = status;
      call.until = at;
      call.version++;
    }
  }
}
var diffsOf = (call) => call.content.filter((one) => one.type === "diff" && typeof one.newText === "string");
function foldQuestion(talk, event) {
  const number = asNumber(event.q) ?? 0;
  const params = asObj(event.params);
  talk.questions.set(number, { number, method: asText(event.method), params, at: event.t });
  const asked = asObj(params.toolCall);
  if (typeof asked.toolCallId === "string") {
    const known = talk.calls.get(asked.toolCallId);
    const before = known?.content ?? [];
    toolCall(talk, asked, event.t);
    const call = talk.calls.get(asked.toolCallId);
    for (const one of before) if (!call.content.some((other) => JSON.stringify(other) === JSON.stringify(one))) call.content = [one, ...call.content];
    call.question = number;
  }
}
function foldAnswer(talk, event) {
  const number = asNumber(event.q) ?? 0;
  const question = talk.questions.get(number);
  talk.questions.delete(number);
  if (question === void 0) return;
  const outcome = asObj(asObj(event.result).outcome);
  const chosen = asList(question.params.options).filter(isObj).find((one) => one.optionId === outcome.optionId);
  const decision = {
    by: typeof event.by === "string" ? event.by : null,
    ms: asNumber(event.ms) ?? 0,
    elsewhere: event.elsewhere === true,
    name: asText(chosen?.name),
    optionKind: asText(chosen?.kind),
    cancelled: outcome.outcome !== "selected"
  };
  const call = [...talk.calls.values()].find((one) => one.question === number);
  if (call !== void 0) {
    call.question = null;
    call.decision = decision;
    call.version++;
  } else if (question.method === "elicitation/create") {
    const action = decision.elsewhere ? "elsewhere" : asText(asObj(event.result).action) || "cancel";
    const words = { accept: "answered", decline: "declined", cancel: "left unanswered", elsewhere: "answered elsewhere" };
    const text = `“${asText(question.params.message)}” was ${words[action] ?? action}${decision.by ? ` by ${decision.by}` : ""}`;
    add(talk, { kind: "note", text, ...base(talk, event.t) });
  }
}
function foldState(talk, state) {
  if (isObj(state.modes)) talk.modes = modeSetting(state.modes);
  if (isObj(state.models)) talk.models = modelSetting(state.models);
  if (Array.isArray(state.configOptions)) talk.options = state.configOptions.filter(isObj).map(optionSetting);
}
function foldChosen(talk, what, params) {
  if (what === "mode") choose(talk, "mode", asText(params.modeId));
  if (what === "model") choose(talk, "model", asText(params.modelId));
}
function choose(talk, category, value) {
  if (category === "mode" && talk.modes !== null) talk.modes = { ...talk.modes, value };
  if (category === "model" && talk.models !== null) talk.models = { ...talk.models, value };
  talk.options = talk.options.map((option) => option.category === category && option.choices.some((one) => one.id === value) ? { ...option, value } : option);
}
function modeSetting(modes) {
  const choices = asList(modes.availableModes).filter(isObj).map((one) => choice(one, asText(one.id)));
  return { id: "mode", name: "Mode", description: "", category: "mode", type: "select", value: asText(modes.currentModeId), choices, how: "mode" };
}
function modelSetting(models) {
  const choices = asList(models.availableModels).filter(isObj).map((one) => choice(one, asText(one.modelId)));
  return { id: "model", name: "Model", description: "", category: "model", type: "select", value: asText(models.currentModelId), choices, how: "model" };
}
function optionSetting(option) {
  const choices = [];
  for (const one of asList(option.options).filter(isObj)) {
    if (Array.isArray(one.options)) {
      for (const inner of one.options.filter(isObj)) choices.push({ ...choice(inner, asText(inner.value)), group: asText(one.name) });
    } else choices.push(choice(one, asText(one.value)));
  }
  const value = typeof option.currentValue === "boolean" ? option.currentValue : asText(option.currentValue);
  return {
    id: asText(option.id),
    name: asText(option.name) || asText(option.id),
    description: asText(option.description),
    category: asText(option.category),
    type: asText(option.type) || "select",
    value,
    choices,
    how: "option"
  };
}
var choice = (one, id) => ({ id, name: asText(one.name) || id, description: asText(one.description), group: "" });
function settings(talk) {
  const covered = new Set(talk.options.map((one) => one.category));
  const older = [talk.modes, talk.models].filter((one) => one !== null && one.choices.length > 0 && !covered.has(one.category));
  const rank = (one) => ["mode", "model"].indexOf(one.category) + 1 || 9;
  return [...older, ...talk.options].sort((a, b) => rank(a) - rank(b));
}
function foldTerminal(talk, event) {
  const id = asText(event.id);
  const known = talk.terminals.get(id) ?? { id, command: "", output: "", exit: null, version: 0 };
  if (typeof event.command === "string") known.command = event.command;
  if (typeof event.data === "string") known.output = (known.output + event.data).slice(-OUTPUT_KEPT);
  if (isObj(event.exit)) known.exit = event.exit;
  known.version++;
  talk.terminals.set(id, known);
  for (const call of talk.calls.values()) if (call.content.some((one) => one.type === "terminal" && one.terminalId === id)) call.version++;
}
function textOf(items) {
  let whole = "";
  let id = null;
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
    const ends = whole === "" ? 2 : /\n*$/.exec(whole)[0].length;
    const starts = /^\n*/.exec(item.text)[0].length;
    whole += "\n".repeat(Math.max(0, 2 - ends - starts)) + item.text;
  }
  return whole;
}

// src/store.ts
import { batch, computed, signal as signal2 } from "./libraries-c0a40985b0.js";

// src/wire/connection.ts
import { signal } from "./libraries-c0a40985b0.js";

// src/text/clock.ts
var offset = Date.now() - performance.now();
var now = () => performance.now() + offset;
function setNow(server) {
  offset = server - performance.now();
}

// src/text/times.ts
function duration(ms) {
  if (ms < 950) return `${(Math.max(ms, 0) / 1e3).toFixed(1)} s`;
  if (ms < 59500) return `${(ms / 1e3).toFixed(1)} s`;
  if (ms < 357e4) return `${Math.round(ms / 6e4)} min`;
  return `${(ms / 36e5).toFixed(1)} h`;
}
function ago(at, now2) {
  const seconds = (now2 - at) / 1e3;
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m`;
  const date = new Date(at);
  if (new Date(now2).toDateString() === date.toDateString()) return clock(at);
  if (seconds < 6 * 86400) return date.toLocaleDateString(void 0, { weekday: "short" });
  return date.toLocaleDateString(void 0, { day: "numeric", month: "short" });
}
var clock = (at) => new Date(at).toLocaleTimeString(void 0, { hour: "2-digit", minute: "2-digit", hour12: false });
var day = (at) => new Date(at).toLocaleDateString(void 0, { weekday: "long", day: "numeric", month: "long" });
function amount(value) {
  if (value < 1e3) return String(value);
  if (value < 999500) return `${(value / 1e3).toFixed(value < 99950 ? 1 : 0)}k`;
  return `${(value / 1e6).toFixed(1)}M`;
}
function bytes(value) {
  if (value < 1e3) return `${value} B`;
  return value < 1e6 ? `${(value / 1e3).toFixed(value < 1e4 ? 1 : 0)} kB` : `${(value / 1e6).toFixed(1)} MB`;
}
function money(value, currency) {
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency, maximumFractionDigits: value < 1 ? 3 : 2, minimumFractionDigits: 2 }).format(value);
  } catch {
    return `${value.toFixed(2)} ${currency}`;
  }
}
function shortPath(path, cwd) {
  if (cwd !== "" && path === cwd) return ".";
  const root = cwd.endsWith("/") ? cwd : `${cwd}/`;
  if (cwd !== "" && path.startsWith(root)) return path.slice(root.length);
  return homely(path);
}
var home = "";
function setHome(path) {
  home = path;
}
var homely = (path) => home.length > 1 && (path === home || path.startsWith(`${home}/`)) ? `~${path.slice(home.length)}` : plainHome(path);
var plainHome = (path) => path.replace(/^\/(?:home|Users)\/[^/]+(?=\/|$)/, "~").replace(/^\/root(?=\/|$)/, "~");

// src/wire/connection.ts
var TOKEN = "acpella.token";
var HANDSHAKE_MS = 1e4;
var STEADY_MS = 5e3;
var FIRST_DELAY = 1e3;
var LONGEST_DELAY = 3e4;
var WireError = class extends Error {
  constructor(code, message, data = null) {
    super(message);
    this.code = code;
    this.data = data;
  }
  code;
  data;
};
var Lost = class extends Error {
};
var Connection = class {
  link = signal({ state: "starting" });
  welcome = signal(null);
  onNotification = () => {
  };
  onReady = () => {
  };
  onFrame = () => {
  };
  #socket = null;
  #waiting = /* @__PURE__ */ new Map();
  #next = 0;
  #delay = FIRST_DELAY;
  #attempting = false;
  #timer;
  #steady;
  /** Log in with the code of the address if there is one; it leaves the address at once. */
  async start() {
    const code = location.hash.slice(1);
    const session = new URLSearchParams(code).get("session");
    if (code && !session) {
      history.replaceState(null, "", location.pathname);
      const answer2 = await fetch("/acp/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }) });
      if (answer2.ok) {
        sessionStorage.setItem(TOKEN, asText(asObj(await answer2.json()).token));
      } else if (!sessionStorage.getItem(TOKEN)) {
        this.link.value = { state: "login", why: (await answer2.text()).trim() };
        return;
      }
    }
    if (sessionStorage.getItem(TOKEN)) this.connect();
    else this.link.value = { state: "login", why: "" };
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.retry();
    });
  }
  /** Use a token that a person typed. */
  logIn(token) {
    sessionStorage.setItem(TOKEN, token.trim());
    this.link.value = { state: "starting" };
    this.connect();
  }
  logOut() {
    sessionStorage.removeItem(TOKEN);
    this.#socket?.close(1e3);
    this.link.value = { state: "login", why: "" };
  }
  /** Do not wait any longer for the next attempt. */
  retry() {
    if (this.link.value.state === "lost") this.connect();
  }
  async request(method, params) {
    const socket = this.#socket;
    const isLive = this.link.value.state === "live" || method === "initialize";
    if (socket === null || socket.readyState !== WebSocket.OPEN || !isLive) throw new Lost("not connected");
    const id = ++this.#next;
    return new Promise((done, failed) => {
      this.#waiting.set(id, { done, failed });
      this.#send({ jsonrpc: "2.0", id, method, params });
    });
  }
  notify(method, params) {
    this.#send({ jsonrpc: "2.0", method, params });
  }
  #send(message) {
    const text = JSON.stringify(message);
    this.#socket?.send(text);
    this.onFrame({ out: true, at: performance.now(), text, message });
  }
  /** One attempt at a time: a second socket would take the answers of the first one's requests with it. */
  connect() {
    if (this.#attempting) return;
    this.#attempting = true;
    clearTimeout(this.#timer);
    void this.#attempt().catch((error) => this.#lost(error instanceof Error ? error.message : "the server cannot be reached"));
  }
  async #attempt() {
    const token = sessionStorage.getItem(TOKEN) ?? "";
    const answer2 = await fetch("/acp/ticket", { method: "POST", headers: { Authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(HANDSHAKE_MS) });
    if ((sessionStorage.getItem(TOKEN) ?? "") !== token) {
      this.#attempting = false;
      if (sessionStorage.getItem(TOKEN)) this.connect();
      return;
    }
    if (answer2.status === 401 || answer2.status === 403) {
      sessionStorage.removeItem(TOKEN);
      this.#attempting = false;
      this.link.value = { state: "login", why: answer2.status === 401 ? "The token does not count here, or not any more." : (await answer2.text()).trim() };
      return;
    }
    if (!answer2.ok) throw new Error((await answer2.text()).trim() || `the server said ${answer2.status}`);
    const ticket = asText(asObj(await answer2.json()).ticket);
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/acp`, ["acpella.page", `acpella.ticket.${ticket}`]);
    this.#socket?.close();
    this.#socket = socket;
    const limit = setTimeout(() => socket.close(), HANDSHAKE_MS);
    socket.onopen = () => {
      clearTimeout(limit);
      void this.#greet(socket);
    };
    socket.onmessage = (event) => this.#take(String(event.data));
    socket.onclose = (event) => {
      clearTimeout(limit);
      if (this.#socket === socket) this.#lost(event.reason);
    };
  }
  async #greet(socket) {
    try {
      this.takeWelcome(
        await this.request("initialize", {
          protocolVersion: 1,
          clientCapabilities: {},
          clientInfo: { name: "acpella-page", version: "1" },
          _meta: { acpella: { page: true } }
        })
      );
      this.#attempting = false;
      this.link.value = { state: "live" };
      this.#steady = setTimeout(() => this.#delay = FIRST_DELAY, STEADY_MS);
      this.onReady();
    } catch (error) {
      if (error instanceof WireError) {
        this.link.value = { state: "lost", why: error.message, again: now() + this.#delay };
        socket.close();
      }
    }
  }
  /** What the agent can do, and what the server says beside it. */
  takeWelcome(answer2) {
    const result = asObj(answer2);
    const mine = asObj(asObj(result._meta).acpella);
    this.welcome.value = {
      agentCapabilities: asObj(result.agentCapabilities),
      agentInfo: asObj(result.agentInfo),
      authMethods: asList(result.authMethods),
      user: asText(mine.user),
      scopes: asList(mine.scopes),
      agent: asText(mine.agent) || asText(asObj(result.agentInfo).title) || asText(asObj(result.agentInfo).name) || "the agent",
      cwd: asText(mine.cwd),
      inspector: mine.inspector === true,
      switches: asList(mine.switches)
    };
    setHome(asText(mine.home));
    const time = asNumber(mine.now);
    if (time !== null) setNow(time);
  }
  #lost(why) {
    this.#attempting = false;
    clearTimeout(this.#steady);
    this.#socket = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const one of waiting) one.failed(new Lost(why || "the connection is lost"));
    if (this.link.value.state === "login") return;
    const delay = this.#delay * (0.75 + Math.random() / 2);
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY);
    this.link.value = { state: "lost", why, again: now() + delay };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.connect(), delay);
  }
  #take(text) {
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      return;
    }
    if (!isObj(message)) return;
    this.onFrame({ out: false, at: performance.now(), text, message });
    if (typeof message.method === "string") {
      if (message.id === void 0) this.onNotification(message.method, asObj(message.params));
      else this.#send({ jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "pages answer through the log" } });
      return;
    }
    const waiting = typeof message.id === "number" ? this.#waiting.get(message.id) : void 0;
    if (waiting === void 0) return;
    this.#waiting.delete(message.id);
    if (message.error !== void 0) {
      const error = asObj(message.error);
      waiting.failed(new WireError(Number(error.code ?? 0), asText(error.message), error.data ?? null));
    } else waiting.done(message.result ?? null);
  }
};

// src/store.ts
var connection = new Connection();
var entries = signal2(/* @__PURE__ */ new Map());
var current = signal2(null);
var problem = signal2("");
var wire = signal2([]);
var WIRE_KEPT = 100;
var WIRE_EVERY = 250;
var NOTHING = { text: "", attached: [] };
var firstDraft = signal2(NOTHING);
var FRAME_CHARACTERS = 24e3;
var EVENT_CHARACTERS = 20;
var Talk = class {
  constructor(id) {
    this.id = id;
  }
  id;
  conversation = empty();
  epoch = "";
  /** Grows when the conversation has changed and it is time to draw. */
  version = signal2(0);
  people = signal2([]);
  role = signal2("controller");
  queue = signal2([]);
  loading = signal2(false);
  failure = signal2("");
  /** A prompt that went out when the connection broke: the log will tell whether it arrived. */
  unsure = null;
  draft = signal2(NOTHING);
  opening = false;
  /** The number of the last event that was there when the session was opened; until it is here, the session loads. */
  awaited = 0;
  #drawing = false;
  #pending = [];
  take(epoch, events) {
    if (epoch !== this.epoch) {
      this.epoch = epoch;
      this.conversation = empty();
      this.#pending = [];
    }
    for (const event of events) this.#pending.push(event);
    this.draw();
  }
  /** Fold as much as one frame can draw: after a silence, thousands of updates may come at once. */
  #foldSome() {
    let room = document.hidden ? Infinity : FRAME_CHARACTERS;
    let at = 0;
    while (at < this.#pending.length && room > 0) {
      const event = this.#pending[at++];
      fold(this.conversation, event);
      room -= EVENT_CHARACTERS + asText(asObj(asObj(event.update).content).text).length;
    }
    this.#pending = at === this.#pending.length ? [] : this.#pending.slice(at);
    if (this.loading.value && this.conversation.n >= this.awaited) this.loading.value = false;
  }
  /** Draw once in a frame, however much has come. */
  draw() {
    if (this.#drawing) return;
    this.#drawing = true;
    const now2 = () => {
      this.#drawing = false;
      batch(() => {
        this.#foldSome();
        this.version.value++;
      });
      if (this.#pending.length > 0) this.draw();
      else this.#sendNext();
    };
    if (document.hidden) setTimeout(now2, 100);
    else requestAnimationFrame(now2);
  }
  /** Whether a prompt runs here, or is on its way, or cannot go yet because the session is being opened again. */
  get isBusy() {
    return this.conversation.turn !== null || this.unsure !== null || this.opening;
  }
  #sendNext() {
    const next = this.queue.value[0];
    if (next !== void 0 && !this.isBusy && connection.link.value.state === "live") {
      this.queue.value = this.queue.value.slice(1);
      void send(this, next.blocks);
    }
  }
};
var talks = /* @__PURE__ */ new Map();
function talkOf(id) {
  let talk = talks.get(id);
  if (talk === void 0) {
    talk = new Talk(id);
    talks.set(id, talk);
  }
  return talk;
}
var currentTalk = computed(() => current.value === null ? null : talkOf(current.value));
var may = (scope) => connection.welcome.value?.scopes.includes(scope) ?? false;
connection.onNotification = (method, params) => {
  if (method === "_acpella/session/events") {
    talkOf(asText(params.sessionId)).take(asText(params.epoch), asList(params.events));
  } else if (method === "_acpella/session/people") {
    talkOf(asText(params.sessionId)).people.value = asList(params.people);
  } else if (method === "_acpella/sessions_changed") {
    const next = new Map(entries.value);
    for (const one of asList(params.sessions)) {
      const entry = asObj(one);
      const before = next.get(entry.sessionId);
      next.set(entry.sessionId, { ...entry, title: entry.title ?? before?.title ?? null });
    }
    for (const id of asList(params.deleted)) forget(next, asText(id));
    entries.value = next;
  } else if (method === "_acpella/client_changed" && connection.welcome.value !== null) {
    connection.welcome.value = { ...connection.welcome.value, switches: asList(params.switches) };
  }
};
function forget(from, id) {
  from.delete(id);
  talks.delete(id);
  if (current.value === id) show(null);
}
var lines = [];
var wireDue = false;
connection.onFrame = (frame) => {
  for (const name2 of namesOf(frame)) {
    const last = lines.at(-1);
    if (last !== void 0 && last.name === name2 && last.out === frame.out) {
      last.count++;
      last.at = frame.at;
    } else lines.push({ out: frame.out, name: name2, count: 1, at: frame.at });
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
function namesOf(frame) {
  const method = asText(frame.message.method);
  if (method !== "_acpella/session/events") return method === "" || method.startsWith("_acpella/") ? [] : [method];
  return asList(asObj(frame.message.params).events).map((one) => {
    const event = asObj(one);
    if (event.k === "update") return asText(asObj(event.update).sessionUpdate) || "session/update";
    return event.k === "ask" ? asText(event.method) : asText(event.k);
  });
}
connection.onReady = () => {
  void refresh();
  const id = current.value ?? new URLSearchParams(location.hash.slice(1)).get("session");
  if (id !== null) void open(id);
};
async function refresh() {
  try {
    const next = /* @__PURE__ */ new Map();
    if (isObj(asObj(connection.welcome.value?.agentCapabilities.sessionCapabilities).list)) {
      const known = asObj(await connection.request("session/list", {}));
      for (const one of asList(known.sessions).filter(isObj)) {
        if (typeof one.sessionId === "string") next.set(one.sessionId, { ...one, cwd: asText(one.cwd), state: "idle", owner: connection.welcome.value?.user });
      }
    }
    const opened = asObj(await connection.request("_acpella/sessions", {}));
    for (const [id, name2] of Object.entries(asObj(opened.names))) {
      const entry = next.get(id);
      if (entry !== void 0) next.set(id, { ...entry, title: asText(name2) });
    }
    for (const one of asList(opened.sessions)) {
      const entry = asObj(one);
      next.set(entry.sessionId, { ...entry, title: entry.title ?? next.get(entry.sessionId)?.title ?? null });
    }
    for (const [id, entry] of entries.value) if (!next.has(id) && talks.has(id) && talks.get(id).epoch) next.set(id, entry);
    entries.value = next;
  } catch (error) {
    tell(error);
  }
}
function tell(error) {
  if (!(error instanceof Lost)) problem.value = error instanceof Error ? error.message : String(error);
}
function show(id) {
  current.value = id;
  history.replaceState(null, "", id === null ? location.pathname : `#session=${encodeURIComponent(id)}`);
}
async function open(id) {
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
    talk.draw();
  }
}
async function watch(talk) {
  const ask = async () => {
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
function giveBack(talk, blocks2) {
  if (talk.draft.value.text === "") talk.draft.value = { text: blocks2.map((one) => asText(one.text)).join(""), attached: blocks2.filter((one) => one.type !== "text") };
}
function settleUnsure(talk, epoch, last) {
  const unsure = talk.unsure;
  talk.unsure = null;
  if (unsure === null) return;
  const settle2 = () => {
    const words = JSON.stringify(unsure.blocks);
    const arrived = talk.conversation.items.some((item) => item.kind === "prompt" && (epoch !== talk.epoch || Number(item.key.slice(1)) > unsure.after) && JSON.stringify(item.blocks.map((one) => one.raw)) === words);
    if (!arrived) giveBack(talk, unsure.blocks);
  };
  const wait = setInterval(() => {
    if (talk.epoch === epoch && talk.conversation.n >= last) {
      clearInterval(wait);
      settle2();
    }
  }, 50);
  setTimeout(() => clearInterval(wait), 5e3);
}
async function begin(cwd) {
  try {
    const result = asObj(await connection.request("session/new", { cwd: cwd ?? connection.welcome.value?.cwd ?? "/", mcpServers: [] }));
    const talk = talkOf(asText(result.sessionId));
    await watch(talk);
    batch(() => {
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
var queued = 0;
var beginning = null;
async function prompt(blocks2) {
  const talk = currentTalk.value ?? await (beginning ??= begin().finally(() => beginning = null));
  if (talk === null) return;
  if (talk.isBusy || talk.queue.value.length > 0) talk.queue.value = [...talk.queue.value, { key: ++queued, blocks: blocks2 }];
  else await send(talk, blocks2);
}
async function send(talk, blocks2) {
  talk.unsure = { blocks: blocks2, after: talk.conversation.n };
  try {
    await connection.request("session/prompt", { sessionId: talk.id, prompt: blocks2 });
    talk.unsure = null;
  } catch (error) {
    if (error instanceof WireError) {
      talk.unsure = null;
      if (error.code === -32002 || error.code === -32003) {
        tell(error);
        giveBack(talk, blocks2);
      }
    }
  }
  talk.draw();
}
function stop() {
  const talk = currentTalk.value;
  if (talk !== null) connection.notify("session/cancel", { sessionId: talk.id });
}
async function answer(talk, question, result) {
  try {
    await connection.request("_acpella/session/answer", { sessionId: talk.id, question, result });
  } catch (error) {
    tell(error);
  }
}
async function change(method, params) {
  const talk = currentTalk.value;
  if (talk === null) return null;
  try {
    return await connection.request(method, { sessionId: talk.id, ...params });
  } catch (error) {
    tell(error);
    return null;
  }
}
async function fork(id) {
  try {
    const cwd = entries.value.get(id)?.cwd ?? connection.welcome.value?.cwd ?? "/";
    const result = asObj(await connection.request("session/fork", { sessionId: id, cwd, mcpServers: [] }));
    await refresh();
    await open(asText(result.sessionId));
  } catch (error) {
    tell(error);
  }
}
async function remove(id) {
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
async function switchClient(name2, on) {
  const switches = connection.welcome.value?.switches ?? [];
  const off = switches.filter((one) => one.name === name2 ? !on : !one.on).map((one) => one.name);
  try {
    connection.takeWelcome(await connection.request("_acpella/client", { off }));
  } catch (error) {
    tell(error);
  }
}
async function rename(id, title) {
  try {
    await connection.request("_acpella/session/rename", { sessionId: id, title });
  } catch (error) {
    tell(error);
  }
}

// src/text/visible.ts
var LONGEST_GAP = 40;
var MOST_EMPTY_LINES = 4;
var MOST_MARKS = 4;
var PICTURE = "[\\p{So}\\p{Sk}\\p{Extended_Pictographic}]";
var HIDDEN = new RegExp(
  [
    `(?<blanks>[ \\t]{${LONGEST_GAP},})`,
    `(?<lines>\\n(?:[ \\t]*\\n){${MOST_EMPTY_LINES},})`,
    "(?![ \\t\\n\\u200d]|\\r\\n)[\\p{C}\\p{Z}]",
    // what is not printed; a joiner may belong to a picture
    `(?<!${PICTURE}\\ufe0f?)\\u200d|\\u200d(?!${PICTURE})`,
    `(?<!${PICTURE})\\ufe0f`,
    // letters and marks that draw nothing, or strike out others
    "[\\u0334-\\u0338\\u034f\\u0488\\u0489\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u1abe\\u20d0-\\u20ff\\u2800\\u3164\\ua670-\\ua672\\ufe00-\\ufe0e\\uffa0]",
    "[\\u{16fe4}\\u{1d159}\\u{e0100}-\\u{e01ef}]",
    `(?<=\\p{Mn}{${MOST_MARKS}})\\p{Mn}`
  ].join("|"),
  "gu"
);
function parts(text) {
  const all = [];
  let at = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > at) all.push({ text: text.slice(at, match.index), hidden: false });
    if (match.groups?.lines === void 0) all.push({ text: name(match[0]), hidden: true });
    else all.push({ text: "\n", hidden: false }, { text: name(match[0]), hidden: true }, { text: "\n", hidden: false });
    at = match.index + match[0].length;
  }
  if (at < text.length) all.push({ text: text.slice(at), hidden: false });
  return all;
}
function name(hidden) {
  if (hidden.startsWith("\n")) return `[${hidden.split("\n").length - 2} empty lines]`;
  if (hidden.length >= LONGEST_GAP) return `[${hidden.length} blanks]`;
  return `U+${(hidden.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
var countHidden = (text) => [...text.matchAll(HIDDEN)].length;
var plain = (text) => text.replace(/\s*\n\s*|[ \t]+/g, " ").replace(HIDDEN, name).trim();

// src/view/panels.ts
import { signal as signal3 } from "./libraries-c0a40985b0.js";
var panels = {
  /** The list of sessions, where there is no room for it. */
  side: signal3(false),
  right: signal3(localStorage.getItem("acpella.panel") !== "closed"),
  keys: signal3(false),
  palette: signal3(null),
  menu: signal3(false),
  renaming: signal3(false),
  inviting: signal3(false),
  deleting: signal3(false),
  review: signal3(false),
  /** On a phone: which one of the views is shown. */
  view: signal3("chat")
};

// src/view/sessions.tsx
import { useState as useState3 } from "./libraries-c0a40985b0.js";

// src/view/icons.tsx
import { jsx } from "./libraries-c0a40985b0.js";
var PATHS = {
  chevron: "m6 3.5 4.5 4.5L6 12.5",
  down: "m3.5 6 4.5 4.5L12.5 6",
  check: "m3 8.5 3.3 3.3L13 4.6",
  cross: "m4 4 8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  dots: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.4 10.4 13.5 13.5",
  read: "M4 1.8h5l3 3v9.4H4zM9 1.8v3h3M6 8h4M6 11h4",
  edit: "m10.5 2.8 2.7 2.7-7.7 7.7-3.2.5.5-3.2zM9 4.3 11.7 7",
  execute: "m2.5 4.5 3.5 3.5-3.5 3.5M8 12h5.5",
  fetch: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM2 8h12M8 2c2 2 2.4 4 2.4 6S10 12 8 14c-2-2-2.4-4-2.4-6S6 4 8 2Z",
  delete: "M2.5 4h11M6 4V2.5h4V4M4 4l.7 9.5h6.6L12 4",
  move: "M2 8h11M9.5 4.5 13 8l-3.5 3.5",
  think: "M8 1.8a4.2 4.2 0 0 0-2.2 7.8v1.6h4.4V9.6A4.2 4.2 0 0 0 8 1.8ZM6.3 13.8h3.4",
  other: "M8 2.2 13.2 5v6L8 13.8 2.8 11V5zM2.8 5 8 8l5.2-3M8 8v5.8",
  plan: "M6.5 4h7M6.5 8h7M6.5 12h7M2.2 4l.8.8 1.6-1.6M2.2 8l.8.8 1.6-1.6M2.2 12l.8.8 1.6-1.6",
  wire: "M1.5 8h3L6.5 3l3 10 2-5h3",
  send: "M8 13V3.2M3.8 7.4 8 3.2l4.2 4.2",
  stop: "M5 5h6v6H5z",
  image: "M2 3h12v10H2zM2 11l3.5-3.5 3 3L11 8l3 3M10.8 5.8h.01",
  at: "M10.5 8a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0ZM10.5 5.5v3.2c0 2.4 3 2 3-.7A5.5 5.5 0 1 0 11 12.6",
  slash: "M2.5 2.5h11v11h-11zM6.5 11l3-6",
  people: "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5c.2-2.8 2-4.2 4.5-4.2s4.3 1.4 4.5 4.2M11 2.9a2.4 2.4 0 0 1 0 4.4M12.3 9.6c1.4.6 2.1 1.9 2.2 3.9",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8ZM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  help: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM6.2 6.3c.1-2.3 3.7-2.3 3.6 0 0 1.3-1.8 1.4-1.8 2.7M8 11.2h.01",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  out: "M9.5 2.5h4v4M13.2 2.8 7.5 8.5M11.5 9.5v4h-9v-9h4",
  alert: "M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.7h.01",
  save: "M8 2v8M4.5 6.8 8 10.3l3.5-3.5M2.5 13.5h11",
  right: "M2.5 8h10.5M9 4l4 4-4 4",
  left: "M13.5 8H3M7 4 3 8l4 4",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.3 1.5",
  folder: "M1.8 3.5h4.4l1.5 1.8h6.5v7.6H1.8z",
  branch: "M4.5 6v4M4.5 6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM4.5 13.6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM11.5 6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM11.5 6c0 2.6-4.6 2-6 4",
  key: "M5.5 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM7.7 7.8 13.5 2M11 4.5l2 2",
  plug: "M5.5 2v3M10.5 2v3M3.5 5h9v2.5a4.5 4.5 0 0 1-9 0zM8 12v2.5",
  bolt: "M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z",
  shield: "M8 1.8 13 3.5V8c0 3-2 5-5 6.2C5 13 3 11 3 8V3.5z",
  panel: "M2 3h12v10H2zM10 3v10",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h7",
  chat: "M2 3h12v8H7.5L4.5 14v-3H2z",
  code: "m5.5 4-4 4 4 4M10.5 4l4 4-4 4",
  retry: "M13 8a5 5 0 1 1-1.5-3.6M13.2 2v3h-3",
  ring: "M8 13A5 5 0 1 0 8 3a5 5 0 0 0 0 10Z",
  spin: "M8 2.5a5.5 5.5 0 1 1-5.5 5.5",
  logo: "M2 12.5V10a6 6 0 0 1 12 0v2.5M5 13v-2.8a3 3 0 0 1 6 0V13M8 10.5v3",
  logout: "M6 2.5H2.5v11H6M10 4.5 13.5 8 10 11.5M13.5 8H6",
  fork: "M4.5 6.2v.3c0 1.8 7 1.2 7 0v-.3M8 7.6v2.2M4.5 6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM11.5 6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM8 13.5a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6Z"
};
var FILLED = {
  theme: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 1.5v9a4.5 4.5 0 0 1 0-9Z",
  half: "M8 2.3a5.7 5.7 0 1 0 0 11.4A5.7 5.7 0 0 0 8 2.3Zm0 1.5v8.4a4.2 4.2 0 0 1 0-8.4Z"
};
function Icon({ name: name2, size = 16, class: own = "" }) {
  const filled = name2 === "theme" || name2 === "half";
  return jsx("svg", { class: `i i-${name2} ${own}`, width: size, height: size, viewBox: "0 0 16 16", "aria-hidden": "true", fill: filled ? "currentColor" : "none", "fill-rule": "evenodd", stroke: filled ? "none" : "currentColor", "stroke-width": name2 === "dots" ? 2 : 1.5, "stroke-linecap": "round", "stroke-linejoin": "round", children: name2 === "stop" ? jsx("rect", { x: "4.5", y: "4.5", width: "7", height: "7", rx: "1.5", fill: "currentColor", stroke: "none" }) : jsx("path", { d: filled ? FILLED[name2] : PATHS[name2] }) });
}
var KINDS = {
  read: "read",
  edit: "edit",
  execute: "execute",
  fetch: "fetch",
  delete: "delete",
  move: "move",
  search: "search",
  think: "think",
  switch_mode: "shield",
  other: "other"
};
var kindIcon = (kind) => KINDS[kind] ?? "other";

// src/view/parts.tsx
import { useEffect, useLayoutEffect, useRef, useState } from "./libraries-c0a40985b0.js";
import { Fragment, jsx as jsx2, jsxs } from "./libraries-c0a40985b0.js";
function IconButton({ icon, label, onClick, class: own = "", pressed, size = 16, expanded }) {
  return jsx2("button", { type: "button", class: `icon ${own}`, "aria-label": label, title: label, "aria-pressed": pressed, "aria-expanded": expanded, onClick, children: jsx2(Icon, { name: icon, size }) });
}
var WORDS = { running: "running", waiting: "waiting for you", done: "done", failed: "failed", idle: "" };
var GLYPHS = { running: "spin", waiting: null, done: "check", failed: "cross", idle: "chat" };
function StateGlyph({ state }) {
  const glyph = GLYPHS[state];
  return jsxs("span", { class: `st ${state}`, children: [
    glyph !== null && jsx2(Icon, { name: glyph, size: 14 }),
    WORDS[state] !== "" && jsx2("span", { class: "hide", children: WORDS[state] })
  ] });
}
function Avatar({ name: name2, big = false }) {
  let sum = 0;
  for (const character of name2) sum = (sum * 31 + character.codePointAt(0)) % 997;
  return jsx2("span", { class: `avatar p${sum % 4 + 1}${big ? " big" : ""}`, "aria-hidden": "true", children: ([...name2][0] ?? "?").toUpperCase() });
}
function Visible({ text }) {
  return jsx2(Fragment, { children: parts(text).map((part, index) => part.hidden ? jsx2("span", { class: "ghost", children: part.text }, index) : part.text) });
}
function CopyButton({ text, label = "Copy" }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text());
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return jsx2(IconButton, { icon: done ? "check" : "copy", size: 14, label: done ? "Copied" : label, onClick: () => void copy() });
}
function Meter({ share, small = false, label }) {
  const width = `${Math.min(100, Math.max(0, share * 100)).toFixed(1)}%`;
  return jsx2("svg", { class: `meter${small ? " small" : ""}`, role: label === void 0 ? void 0 : "img", "aria-label": label, "aria-hidden": label === void 0, children: jsx2("rect", { width, height: "100%", rx: "2" }) });
}
function Keys({ keys }) {
  return jsx2("span", { class: "key-row", children: keys.map((key) => jsx2("kbd", { children: key }, key)) });
}
var origins = /* @__PURE__ */ new WeakMap();
function origin(dialog) {
  let place = origins.get(dialog) ?? null;
  while (place !== null && !place.isConnected) {
    const owner = place.closest("dialog");
    place = owner === null ? null : origins.get(owner) ?? null;
  }
  return place instanceof HTMLElement ? place : null;
}
function Modal({ label, class: own = "", onClose, children }) {
  const dialog = useRef(null);
  useLayoutEffect(() => {
    const shown = dialog.current;
    origins.set(shown, document.activeElement);
    if (!shown.open) shown.showModal();
    return () => {
      shown.close();
      origin(shown)?.focus();
    };
  }, []);
  return jsx2(
    "dialog",
    {
      ref: dialog,
      class: `dialog ${own}`,
      "aria-label": label,
      onCancel: (event) => {
        event.preventDefault();
        onClose();
      },
      onClick: (event) => {
        if (event.target === dialog.current) onClose();
      },
      children
    }
  );
}
function useNow(every, active = true) {
  const [time, setTime] = useState(now);
  useEffect(() => {
    if (!active) return;
    const timer = setInterval(() => setTime(now()), every);
    return () => clearInterval(timer);
  }, [every, active]);
  return time;
}
var isMac = /Mac|iPhone|iPad/.test(navigator.platform);
var MOD = isMac ? "⌘" : "Ctrl";

// src/view/palette.tsx
import { useLayoutEffect as useLayoutEffect2, useRef as useRef3, useState as useState2 } from "./libraries-c0a40985b0.js";

// src/view/choices.tsx
import { useEffect as useEffect2, useRef as useRef2 } from "./libraries-c0a40985b0.js";
import { Fragment as Fragment2, jsx as jsx3, jsxs as jsxs2 } from "./libraries-c0a40985b0.js";
function Choices({ label, choices, at, onPick, id, title, foot }) {
  const list2 = useRef2(null);
  useEffect2(() => list2.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }), [at]);
  let group = "";
  return jsxs2("div", { class: "pop", children: [
    title !== void 0 && jsx3("div", { class: "pop-group", children: title }),
    jsx3("div", { class: "pop-list", role: "listbox", "aria-label": label, id, ref: list2, children: choices.map((one, index) => {
      const head = one.group !== void 0 && one.group !== "" && one.group !== group ? jsx3("div", { class: "pop-group", role: "presentation", children: plain(group = one.group) }, `g${index}`) : null;
      return [
        head,
        jsxs2(
          "div",
          {
            id: `${id}-${index}`,
            class: "opt",
            role: "option",
            "aria-selected": index === at,
            onPointerDown: (event) => event.preventDefault(),
            onClick: () => onPick(index),
            children: [
              one.icon !== void 0 && one.icon !== "ring" && jsx3(Icon, { name: one.icon }),
              jsx3("b", { class: one.mono ? "mono" : void 0, children: jsx3(MarkedTitle, { title: plain(one.title), query: one.query ?? "" }) }),
              jsx3("span", { class: "cut grow", children: plain(one.detail ?? "") }),
              one.end !== void 0 && one.end !== "" && jsx3("span", { class: "dim", children: plain(one.end) }),
              one.isSet === true && jsx3(Icon, { name: "check", size: 14, class: "set" }),
              one.keys?.map((key) => jsx3("kbd", { children: key }, key))
            ]
          },
          index
        )
      ];
    }) }),
    foot !== void 0 && jsx3("div", { class: "pop-foot", children: foot.map(([key, word]) => jsxs2("span", { children: [
      jsx3("kbd", { children: key }),
      word
    ] }, key)) })
  ] });
}
function MarkedTitle({ title, query }) {
  const at = query === "" ? -1 : title.toLowerCase().indexOf(query.toLowerCase());
  if (at < 0) return jsx3(Fragment2, { children: title });
  return jsxs2(Fragment2, { children: [
    title.slice(0, at),
    jsx3("mark", { children: title.slice(at, at + query.length) }),
    title.slice(at + query.length)
  ] });
}

// src/view/palette.tsx
import { jsx as jsx4, jsxs as jsxs3 } from "./libraries-c0a40985b0.js";
var openPalette = (query = "") => {
  panels.palette.value = query;
};
function matching(all, query) {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const text = (one) => `${one.title} ${one.detail ?? ""}`.toLowerCase();
  return all.filter((one) => words.every((word) => text(one).includes(word))).slice(0, 50);
}
function Palette() {
  const start = panels.palette.value;
  return start === null ? null : jsx4(Opened, { start });
}
function Opened({ start }) {
  const [query, setQuery] = useState2(start);
  const [at, setAt] = useState2(0);
  const input = useRef3(null);
  const found = matching(actions(), query);
  const close = () => {
    panels.palette.value = null;
  };
  useLayoutEffect2(() => {
    input.current?.focus();
    input.current?.setSelectionRange(99, 99);
  }, []);
  const run = (index) => {
    const action = found[index];
    close();
    action?.run();
  };
  return jsxs3(Modal, { label: "Palette", class: "palette", onClose: close, children: [
    jsxs3("div", { class: "palette-in", children: [
      jsx4(Icon, { name: "search" }),
      jsx4(
        "input",
        {
          ref: input,
          class: "bare",
          role: "combobox",
          "aria-label": "What to do",
          "aria-expanded": "true",
          "aria-controls": "palette-list",
          "aria-activedescendant": `palette-list-${at}`,
          placeholder: "Search for actions and sessions",
          value: query,
          onInput: (event) => {
            setQuery(event.currentTarget.value);
            setAt(0);
          },
          onKeyDown: (event) => {
            if (event.key === "ArrowDown" || event.key === "ArrowUp") {
              event.preventDefault();
              setAt((at + (event.key === "ArrowDown" ? 1 : found.length - 1)) % Math.max(1, found.length));
            } else if (event.key === "Enter") {
              event.preventDefault();
              run(at);
            }
          }
        }
      )
    ] }),
    found.length === 0 ? jsx4("p", { class: "dim nothing", children: "Nothing is called that." }) : jsx4(Choices, { label: "Actions", id: "palette-list", at, onPick: run, choices: found.map((one) => ({ ...one, query: query.trim().split(/\s+/).at(-1) ?? "" })), foot: [["↑↓", "move"], ["↵", "run"], ["Esc", "close"]] })
  ] });
}

// src/view/sessions.tsx
import { Fragment as Fragment3, jsx as jsx5, jsxs as jsxs4 } from "./libraries-c0a40985b0.js";
var timeOf = (entry) => typeof entry.updatedAt === "number" ? entry.updatedAt : Date.parse(entry.updatedAt ?? "") || 0;
var titleOf = (entry) => plain(entry?.title ?? "") || "Untitled session";
function sorted(list2) {
  return [...list2].sort((a, b) => timeOf(b) - timeOf(a));
}
var GROUPS = [
  ["Waiting for you", (one) => one.state === "waiting"],
  ["Running", (one) => one.state === "running"],
  ["Done", (one) => one.state === "done" || one.state === "failed"],
  ["Earlier", (one) => one.state === "idle"]
];
var FIRST = 40;
function Sessions() {
  const now2 = useNow(3e4);
  const [all, setAll] = useState3(false);
  const list2 = sorted(entries.value.values());
  const welcome = connection.welcome.value;
  return jsxs4("nav", { class: "side", "aria-label": "Sessions", children: [
    jsxs4("div", { class: "bar", children: [
      jsxs4("button", { type: "button", class: "brand", onClick: () => show(null), children: [
        jsx5(Icon, { name: "logo", size: 18 }),
        "acpella"
      ] }),
      jsx5("span", { class: "grow" }),
      jsx5(IconButton, { icon: "plus", label: "New session", onClick: () => show(null) })
    ] }),
    jsxs4("button", { type: "button", class: "side-find", onClick: () => openPalette("session "), children: [
      jsx5(Icon, { name: "search", size: 14 }),
      jsx5("span", { class: "cut grow", children: "Search sessions" }),
      jsx5("span", { children: jsxs4("kbd", { children: [
        MOD,
        " K"
      ] }) })
    ] }),
    jsxs4("div", { class: "side-list", children: [
      list2.length === 0 && welcome !== null && jsxs4("p", { class: "side-empty", children: [
        "No sessions in ",
        jsx5("span", { class: "mono", children: homely(welcome.cwd) }),
        " yet."
      ] }),
      GROUPS.map(([name2, belongs]) => {
        const found = list2.filter(belongs);
        if (found.length === 0) return null;
        const shown = all ? found : found.slice(0, FIRST);
        return jsxs4("section", { children: [
          jsx5("h2", { children: name2 }),
          shown.map((entry) => jsx5(Row, { entry, now: now2 }, entry.sessionId)),
          shown.length < found.length && jsx5("button", { type: "button", class: "linkish side-more", onClick: () => setAll(true), children: `Show all ${found.length}` })
        ] }, name2);
      })
    ] }),
    jsxs4("div", { class: "side-foot", children: [
      jsx5(LinkLight, {}),
      jsx5(IconButton, { icon: "theme", label: "Light or dark", onClick: toggleTheme }),
      jsx5(IconButton, { icon: "help", label: "Keys", onClick: () => panels.keys.value = true })
    ] })
  ] });
}
function LinkLight() {
  const state = connection.link.value.state;
  const words = { live: location.host, lost: "Connection lost", starting: "Connecting", login: "Not logged in", over: "Ended" };
  return jsxs4(Fragment3, { children: [
    jsx5("span", { class: `live is-${state}` }),
    jsx5("span", { class: "cut grow", children: words[state] })
  ] });
}
var WANTS = { "session/request_permission": "wants a permission", "elicitation/create": "has a question" };
var WANTS_TO = { edit: "wants to edit a file", execute: "wants to run a command", delete: "wants to delete a file", move: "wants to move a file", fetch: "wants to fetch a page" };
function Row({ entry, now: now2 }) {
  const me = connection.welcome.value?.user;
  const folder = homely(entry.cwd).split("/").at(-1) || homely(entry.cwd);
  return jsxs4(
    "button",
    {
      type: "button",
      class: "session",
      "aria-current": current.value === entry.sessionId,
      "data-state": entry.state,
      onClick: () => {
        panels.side.value = false;
        void open(entry.sessionId);
      },
      children: [
        jsx5(StateGlyph, { state: entry.state }),
        jsx5("b", { children: titleOf(entry) }),
        jsx5("time", { children: timeOf(entry) === 0 ? "" : ago(timeOf(entry), now2) }),
        jsxs4("small", { children: [
          entry.state === "waiting" && jsxs4("span", { class: "ask", children: [
            WANTS_TO[entry.waitsTool ?? ""] ?? WANTS[entry.waitsFor ?? ""] ?? "waits for you",
            " · "
          ] }),
          plain(folder),
          entry.owner !== void 0 && entry.owner !== me && entry.owner !== "" && ` · of ${plain(entry.owner)}`
        ] })
      ]
    }
  );
}

// src/view/actions.ts
function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme !== void 0 ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("acpella.theme", root.dataset.theme);
}
function togglePanel() {
  panels.right.value = !panels.right.value;
  localStorage.setItem("acpella.panel", panels.right.value ? "open" : "closed");
}
var can = (name2) => {
  const offered = connection.welcome.value?.agentCapabilities.sessionCapabilities;
  return isObj(offered) && isObj(offered[name2]);
};
function exportMarkdown() {
  const talk = currentTalk.value;
  if (talk === null) return;
  const lines3 = [`# ${titleOf(entries.value.get(talk.id))}`, ""];
  for (const item of talk.conversation.items) {
    if (item.kind === "prompt") lines3.push(`## ${item.by || "You"}`, "", item.blocks.map((one) => one.type === "text" ? asText(one.raw.text) : `[${one.type}]`).join("\n"), "");
    else if (item.kind === "text") lines3.push(textOf([item]), "");
    else if (item.kind === "tool") lines3.push(`- ${item.title} (${item.status})`, "");
  }
  save(lines3.join("\n"), "md", "text/markdown");
}
function exportJson() {
  const talk = currentTalk.value;
  if (talk === null) return;
  const { items, plan, usage, title } = talk.conversation;
  save(JSON.stringify({ sessionId: talk.id, title, plan, usage, items }, null, 2), "json", "application/json");
}
function save(text, ending, kind) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = `${titleOf(entries.value.get(current.value ?? "")).replace(/[^\w -]+/g, "").slice(0, 60) || "session"}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1e3);
}
function nextWaiting() {
  const waiting = sorted(entries.value.values()).filter((one) => one.state === "waiting" && one.sessionId !== current.value);
  if (waiting[0] !== void 0) void open(waiting[0].sessionId);
}
async function askForNotifications() {
  if ("Notification" in window) await Notification.requestPermission();
}
function sessionActions() {
  const id = current.value;
  if (id === null) return [];
  const actions2 = [
    { title: "Rename the session…", icon: "edit", run: () => panels.renaming.value = true },
    { title: "Invite somebody…", detail: "to watch, or to work along", icon: "people", run: () => panels.inviting.value = true },
    { title: "Review the changes", detail: "all files of this session", icon: "code", run: () => panels.review.value = true },
    { title: "Export as Markdown", icon: "save", run: exportMarkdown },
    { title: "Export as JSON", icon: "save", run: exportJson }
  ];
  if (can("fork")) actions2.push({ title: "Fork the session", detail: "a copy that goes its own way", icon: "fork", run: () => void fork(id) });
  if (can("delete")) actions2.push({ title: "Delete the session…", icon: "delete", run: () => panels.deleting.value = true });
  return actions2;
}
function actions() {
  const all = [
    { title: "New session", icon: "plus", keys: ["g", "c"], run: () => show(null) },
    ...sessionActions(),
    { title: "Next session that waits", icon: "alert", keys: ["g", "n"], run: nextWaiting },
    { title: "Side panel", detail: "plan, files, usage, people, wire", icon: "panel", keys: ["g", "p"], run: togglePanel },
    { title: "Light or dark", icon: "theme", run: toggleTheme },
    { title: "Keys", icon: "help", keys: ["?"], run: () => panels.keys.value = true },
    { title: "Tell me when something waits", detail: "a notification while this tab is hidden", icon: "alert", run: () => void askForNotifications() },
    { title: "List the sessions again", icon: "retry", run: () => void refresh() },
    { title: "Log out", icon: "logout", run: () => connection.logOut() }
  ];
  if (currentTalk.value?.conversation.turn != null) all.unshift({ title: "Stop the agent", icon: "stop", keys: ["Esc", "Esc"], run: stop });
  for (const entry of sorted(entries.value.values()).slice(0, 200)) {
    all.push({ title: titleOf(entry), detail: `session · ${entry.state === "idle" ? "earlier" : entry.state}${timeOf(entry) ? "" : ""}`, icon: "chat", run: () => void open(entry.sessionId) });
  }
  return all;
}
var KEYS = [
  ["Everywhere", [["Palette", [MOD, "K"]], ["These keys", ["?"]], ["New session", ["g", "c"]], ["Next session that waits", ["g", "n"]], ["Side panel", ["g", "p"]], ["Stop the agent", ["Esc", "Esc"]]]],
  ["Writing", [["Send", ["↵"]], ["New line", ["⇧", "↵"]], ["Commands", ["/"]], ["Files", ["@"]], ["The last prompt again", ["↑"]], ["To the input", ["i"]]]],
  ["Questions", [["Choose an answer", ["1", "…", "9"]], ["Move", ["↑", "↓"]], ["Reject", ["Esc"]]]]
];

// src/view/client.tsx
import { useState as useState4 } from "./libraries-c0a40985b0.js";
import { jsx as jsx6, jsxs as jsxs5 } from "./libraries-c0a40985b0.js";
function Client() {
  const [busy, setBusy] = useState4("");
  const switches = connection.welcome.value?.switches ?? [];
  if (switches.length === 0) return null;
  const off = switches.filter((one) => !one.on);
  const flip = async (name2, on) => {
    setBusy(name2);
    await switchClient(name2, on);
    setBusy("");
  };
  return jsxs5("details", { class: "client", "data-client": true, children: [
    jsxs5("summary", { children: [
      jsx6(Icon, { name: "plug", size: 14 }),
      jsx6("b", { children: "Client" }),
      jsx6("span", { class: "cut grow", children: off.length === 0 ? "can do everything" : `without ${off.map((one) => one.name).join(", ")}` }),
      jsx6(Icon, { name: "down", size: 12 })
    ] }),
    jsxs5("fieldset", { disabled: busy !== "", "aria-busy": busy !== "", children: [
      jsx6("legend", { class: "hide", children: "What the client can do" }),
      switches.map((one) => jsxs5("label", { class: "pick", children: [
        jsx6("input", { type: "checkbox", checked: one.on !== (busy === one.name), onChange: (event) => void flip(one.name, event.currentTarget.checked) }),
        jsxs5("span", { children: [
          plain(one.words),
          " ",
          jsx6("code", { children: one.name })
        ] })
      ] }, one.name)),
      jsx6("p", { class: "dim", children: "The agent is started again at each change: a client says once what it can do." })
    ] })
  ] });
}

// src/view/composer.tsx
import { useEffect as useEffect3, useLayoutEffect as useLayoutEffect3, useRef as useRef4, useState as useState5 } from "./libraries-c0a40985b0.js";
import { Fragment as Fragment4, jsx as jsx7, jsxs as jsxs6 } from "./libraries-c0a40985b0.js";
var MOST_IMAGE = 10 * 1024 * 1024;
var TWICE = 1500;
function Composer({ talk }) {
  talk?.version.value;
  const written = talk === null ? firstDraft : talk.draft;
  const draft = written.value;
  const setDraft = (next) => {
    written.value = next;
  };
  const area = useRef4(null);
  const [chosen, setChosen] = useState5(0);
  const [place, setPlace] = useState5(0);
  const [closed, setClosed] = useState5("");
  const [files, setFiles] = useState5({ query: null, found: [] });
  const wanted = useRef4(null);
  const early = useRef4(null);
  const links = useRef4(/* @__PURE__ */ new Map());
  const escaped = useRef4(0);
  const [hint, setHint] = useState5("");
  const running = talk !== null && talk.conversation.turn !== null;
  const capabilities = asObj(connection.welcome.value?.agentCapabilities.promptCapabilities);
  const canWrite = may("prompt") && (talk === null || talk.role.value === "controller");
  const agent = plain(connection.welcome.value?.agent ?? "the agent");
  useLayoutEffect3(() => {
    const box = area.current;
    if (box === null) return;
    box.style.blockSize = "0";
    box.style.blockSize = `${Math.min(Math.max(box.scrollHeight, 42), innerHeight * 0.4)}px`;
    if (wanted.current !== null) {
      box.focus();
      box.setSelectionRange(wanted.current, wanted.current);
      wanted.current = null;
    }
  }, [draft.text]);
  useLayoutEffect3(() => {
    if (!matchMedia("(pointer: coarse)").matches) area.current?.focus();
  }, [talk, canWrite]);
  const caret = Math.min(place, draft.text.length);
  const before = draft.text.slice(0, caret);
  const slash = /^\/([\w:.-]*)$/.exec(before);
  const at = /(?:^|\s)@([^\s@]*)$/.exec(before);
  useEffect3(() => {
    if (at === null || !canWrite) return;
    const query = at[1];
    let over = false;
    const timer = setTimeout(() => {
      const params = talk === null ? { query } : { query, sessionId: talk.id };
      connection.request("_acpella/files", params).then(
        (result) => {
          if (over) return;
          setFiles({ query, found: asList(asObj(result).files).map((one) => suggestFile(asObj(one), query)) });
        },
        () => !over && setFiles({ query, found: [] })
      );
    }, 60);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [at?.[1]]);
  const commands = slash === null || talk === null ? [] : suggestCommands(talk.conversation.commands, slash[1]);
  const suggestions = closed === before ? [] : slash !== null ? commands : at !== null ? files.found : [];
  const isLate = closed !== before && slash === null && at !== null && canWrite && connection.link.value.state === "live" && files.query !== at[1];
  const picked = Math.min(chosen, suggestions.length - 1);
  const insert = (one) => {
    const start = slash !== null ? 0 : caret - at[1].length - 1;
    const text = `${draft.text.slice(0, start)}${one.insert} ${draft.text.slice(caret).replace(/^\s/, "")}`;
    if (one.block !== void 0) links.current.set(one.insert, one.block);
    setDraft({ ...draft, text });
    setChosen(0);
    const next = start + one.insert.length + 1;
    setPlace(next);
    wanted.current = next;
  };
  const submit = () => {
    const draft2 = written.value;
    const text = draft2.text.trim();
    if (!canWrite || text === "" && draft2.attached.length === 0 || connection.link.value.state !== "live") return;
    const named = [...links.current].filter(([name2]) => text.includes(name2)).map(([, block3]) => block3);
    links.current.clear();
    const blocks2 = [...text === "" ? [] : [{ type: "text", text }], ...named, ...draft2.attached];
    setDraft({ text: "", attached: [] });
    void prompt(blocks2);
  };
  useLayoutEffect3(() => {
    const key = early.current;
    if (key === null || isLate) return;
    early.current = null;
    if (suggestions[0] !== void 0) insert(suggestions[0]);
    else if (key === "Enter") submit();
  }, [files]);
  const onKey = (event) => {
    if (event.isComposing) return;
    if (suggestions.length > 0) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        setChosen((picked + (event.key === "ArrowDown" ? 1 : suggestions.length - 1)) % suggestions.length);
        return;
      }
      if (event.key === "Tab" || event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        if (isLate) early.current = event.key;
        else insert(suggestions[picked]);
        return;
      }
      if (event.key === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        setClosed(before);
        return;
      }
    }
    if (isLate && (event.key === "Tab" || event.key === "Enter") && !event.shiftKey) {
      event.preventDefault();
      early.current = event.key;
    } else if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape" && running) {
      if (event.timeStamp - escaped.current < TWICE) {
        stop();
        setHint("");
      } else {
        setHint("Press Esc again to stop the agent");
        setTimeout(() => setHint(""), TWICE);
      }
      escaped.current = event.timeStamp;
    } else if (event.key === "ArrowUp" && draft.text === "" && talk !== null) {
      const last = talk.conversation.items.findLast((item) => item.kind === "prompt");
      if (last?.kind === "prompt") {
        event.preventDefault();
        setDraft({ ...draft, text: last.blocks.filter((one) => one.type === "text").map((one) => asText(one.raw.text)).join("\n") });
      }
    }
  };
  const attach = async (list2) => {
    for (const file of list2) {
      const kind = file.type.startsWith("image/") ? "image" : file.type.startsWith("audio/") ? "audio" : "";
      if (kind === "" || capabilities[kind] !== true) tell(new Error(kind === "" ? `${file.name} is neither a picture nor a sound` : `${agent} takes no ${kind === "image" ? "pictures" : "sound"}`));
      else if (file.size > MOST_IMAGE) tell(new Error(`${file.name} has ${bytes(file.size)}; at most ${bytes(MOST_IMAGE)} can be sent`));
      else {
        const data = await base64(file);
        setDraft({ ...written.value, attached: [...written.value.attached, { type: kind, mimeType: file.type, data, _meta: { name: file.name, size: file.size } }] });
      }
    }
  };
  const lost = connection.link.value.state !== "live";
  const words = !canWrite ? "You watch this session" : running ? "Add to the queue. The agent is working." : innerWidth > 720 ? `Message ${agent}: / for commands, @ for files` : `Message ${agent}`;
  const all = talk === null ? [] : settings(talk.conversation);
  return jsx7("div", { class: "dock", children: jsxs6(
    "div",
    {
      class: "composer",
      onDragOver: (event) => event.preventDefault(),
      onDrop: (event) => {
        event.preventDefault();
        if (event.dataTransfer !== null) void attach(event.dataTransfer.files);
      },
      children: [
        suggestions.length > 0 && jsx7(Choices, { label: slash !== null ? "Commands" : "Files", choices: suggestions, at: picked, onPick: (index) => insert(suggestions[index]), id: "suggestions", foot: [["Tab", "complete"], ["Esc", "close"]] }),
        talk?.queue.value.map((queued2) => jsxs6("div", { class: "queue", children: [
          jsx7(Icon, { name: "clock", size: 14 }),
          jsxs6("span", { class: "cut grow", children: [
            "Queued: ",
            plain(queued2.blocks.map((one) => asText(one.text)).join(" "))
          ] }),
          jsx7("button", { type: "button", class: "btn quiet small", onClick: () => {
            talk.queue.value = talk.queue.value.filter((one) => one !== queued2);
            setDraft({ text: queued2.blocks.map((one) => asText(one.text)).join(""), attached: queued2.blocks.filter((one) => one.type === "image" || one.type === "audio") });
          }, children: "Edit" }),
          jsx7(IconButton, { icon: "cross", size: 14, label: "Do not send it", onClick: () => talk.queue.value = talk.queue.value.filter((one) => one !== queued2) })
        ] }, queued2.key)),
        draft.attached.length > 0 && jsx7("div", { class: "attach in-composer", children: draft.attached.map((one, index) => jsxs6("span", { class: "shot", children: [
          jsx7(Icon, { name: "image", size: 14 }),
          jsxs6("span", { children: [
            jsx7("b", { children: plain(asText(asObj(one._meta).name)) || asText(one.type) }),
            jsx7("small", { children: bytes(asNumber(asObj(one._meta).size) ?? 0) })
          ] }),
          jsx7(IconButton, { icon: "cross", size: 12, label: "Remove", onClick: () => setDraft({ ...draft, attached: draft.attached.filter((other) => other !== one) }) })
        ] }, index)) }),
        jsx7(
          "textarea",
          {
            ref: area,
            "aria-label": "Prompt",
            placeholder: words,
            value: draft.text,
            disabled: !canWrite,
            rows: 1,
            autoComplete: "off",
            "aria-autocomplete": "list",
            "aria-controls": suggestions.length > 0 ? "suggestions" : void 0,
            "aria-activedescendant": suggestions.length > 0 ? `suggestions-${picked}` : void 0,
            onInput: (event) => {
              early.current = null;
              setDraft({ ...written.value, text: event.currentTarget.value });
              setPlace(event.currentTarget.selectionStart);
              setChosen(0);
            },
            onSelect: (event) => setPlace(event.currentTarget.selectionStart),
            onKeyDown: onKey,
            onPaste: (event) => {
              const pasted = [...event.clipboardData?.files ?? []];
              if (pasted.length > 0) {
                event.preventDefault();
                void attach(pasted);
              }
            }
          }
        ),
        jsxs6("div", { class: "composer-row", children: [
          capabilities.image === true && jsx7(AttachButton, { onFiles: (list2) => void attach(list2) }),
          all.map((setting) => jsx7(SettingChip, { setting, disabled: !canWrite || !may("approve") }, `${setting.how}-${setting.id}`)),
          jsx7("span", { class: "grow" }),
          jsx7("span", { class: "composer-hint", role: "status", children: hint }),
          talk !== null && jsx7(UsageChip, { usage: talk.conversation.usage }),
          running && draft.text.trim() === "" && draft.attached.length === 0 ? jsx7("button", { type: "button", class: "send stop", "aria-label": "Stop the agent", title: "Stop the agent", onClick: stop, disabled: !canWrite, children: jsx7(Icon, { name: "stop" }) }) : jsx7("button", { type: "button", class: "send", "aria-label": running ? "Add to the queue" : "Send", title: running ? "Add to the queue" : "Send", onClick: submit, disabled: !canWrite || lost || draft.text.trim() === "" && draft.attached.length === 0, children: jsx7(Icon, { name: "send" }) })
        ] })
      ]
    }
  ) });
}
function base64(file) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => failed(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(file);
  });
}
function suggestFile(one, query) {
  const path = asText(one.path);
  return { title: path, mono: true, icon: /\.(png|jpe?g|gif|webp|svg)$/i.test(path) ? "image" : "read", detail: "", query, insert: `@${path}`, block: { type: "resource_link", uri: asText(one.uri), name: path } };
}
function suggestCommands(commands, query) {
  const low = query.toLowerCase();
  return commands.filter((one) => one.name.toLowerCase().includes(low)).sort((a, b) => Number(b.name.toLowerCase().startsWith(low)) - Number(a.name.toLowerCase().startsWith(low))).slice(0, 12).map((one) => ({ title: `/${one.name}`, icon: "slash", detail: one.description, end: one.hint === "" ? "" : `[${one.hint}]`, query, insert: `/${one.name}` }));
}
function AttachButton({ onFiles }) {
  const input = useRef4(null);
  return jsxs6(Fragment4, { children: [
    jsx7(IconButton, { icon: "image", label: "Attach an image", onClick: () => input.current?.click() }),
    jsx7("input", { ref: input, type: "file", accept: "image/*", multiple: true, hidden: true, onChange: (event) => {
      if (event.currentTarget.files !== null) onFiles(event.currentTarget.files);
      event.currentTarget.value = "";
    } })
  ] });
}
function UsageChip({ usage }) {
  const used = asNumber(usage.used);
  const size = asNumber(usage.size);
  const cost = asObj(usage.cost);
  const spent = asNumber(cost.amount);
  if (used === null && spent === null) return null;
  const parts2 = [];
  if (used !== null && size !== null && size > 0) parts2.push(`${Math.round(used / size * 100)} %`);
  else if (used !== null) parts2.push(`${amount(used)} tokens`);
  if (spent !== null) parts2.push(money(spent, asText(cost.currency) || "USD"));
  return jsxs6("span", { class: "usage only-wide", children: [
    used !== null && size !== null && size > 0 && jsx7(Meter, { share: used / size, small: true }),
    parts2.join(" · ")
  ] });
}
function SettingChip({ setting, disabled }) {
  const [open2, setOpen] = useState5(false);
  const chip = useRef4(null);
  const set = (value) => {
    setOpen(false);
    chip.current?.focus();
    if (setting.how === "mode") void change("session/set_mode", { modeId: value });
    else if (setting.how === "model") void change("session/set_model", { modelId: value });
    else void change("session/set_config_option", setting.type === "boolean" ? { configId: setting.id, type: "boolean", value } : { configId: setting.id, value });
  };
  if (setting.type === "boolean") {
    return jsx7("button", { type: "button", class: "chip switch", role: "switch", "aria-checked": setting.value === true, disabled, title: plain(setting.description), onClick: () => set(setting.value !== true), children: plain(setting.name) });
  }
  const current2 = setting.choices.find((one) => one.id === setting.value);
  const isMain = setting.category === "mode" || setting.category === "model";
  return jsxs6("span", { class: `chip-box${isMain ? "" : " only-wide"}`, children: [
    jsxs6("button", { ref: chip, type: "button", class: "chip", "aria-haspopup": "listbox", "aria-expanded": open2, disabled, "aria-label": `${plain(setting.name)}: ${plain(current2?.name ?? String(setting.value))}`, onClick: () => setOpen(!open2), children: [
      setting.category === "mode" && jsx7(Icon, { name: "shield", size: 14 }),
      !isMain && jsx7("span", { class: "key", children: plain(setting.name) }),
      jsx7("span", { class: "cut", children: plain(current2?.name ?? String(setting.value)) }),
      jsx7(Icon, { name: "down", size: 11 })
    ] }),
    open2 && jsx7(SettingList, { setting, onPick: set, onClose: () => {
      setOpen(false);
      chip.current?.focus();
    } })
  ] });
}
function SettingList({ setting, onPick, onClose }) {
  const [at, setAt] = useState5(Math.max(0, setting.choices.findIndex((one) => one.id === setting.value)));
  const box = useRef4(null);
  useLayoutEffect3(() => {
    box.current?.focus();
    const outside = (event) => {
      if (!box.current?.contains(event.target)) onClose();
    };
    document.addEventListener("pointerdown", outside, true);
    return () => document.removeEventListener("pointerdown", outside, true);
  }, []);
  const choices = setting.choices.map((one) => ({ title: one.name, detail: one.description, group: one.group, icon: "ring", isSet: one.id === setting.value }));
  return jsx7(
    "div",
    {
      ref: box,
      class: "pop-at",
      tabIndex: -1,
      onKeyDown: (event) => {
        if (event.key === "ArrowDown" || event.key === "ArrowUp") {
          event.preventDefault();
          setAt((at + (event.key === "ArrowDown" ? 1 : choices.length - 1)) % choices.length);
        } else if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          onPick(setting.choices[at].id);
        } else if (event.key === "Escape" || event.key === "Tab") {
          event.preventDefault();
          event.stopPropagation();
          onClose();
        }
      },
      children: jsx7(Choices, { label: plain(setting.name), choices, at, onPick: (index) => onPick(setting.choices[index].id), id: `set-${setting.id}`, title: plain(setting.name) })
    }
  );
}
var focusComposer = () => document.querySelector(".composer textarea")?.focus();

// src/view/dialogs.tsx
import { useState as useState7 } from "./libraries-c0a40985b0.js";

// src/view/diff.tsx
import { diffLines as diffLines2, diffWordsWithSpace, useMemo, useState as useState6 } from "./libraries-c0a40985b0.js";

// src/fold/changes.ts
import { diffLines } from "./libraries-c0a40985b0.js";
var counts = /* @__PURE__ */ new WeakMap();
var MOST = 4e5;
var MOST_EDITS = 1500;
function count(diff) {
  let known = counts.get(diff);
  if (known === void 0) {
    const before = asText(diff.oldText);
    const after = asText(diff.newText);
    if (before.length + after.length > MOST) known = [lines2(after), lines2(before)];
    else {
      known = [0, 0];
      for (const part of diffLines(before, after, { maxEditLength: MOST_EDITS }) ?? [{ added: true, count: lines2(after) }, { removed: true, count: lines2(before) }]) {
        if (part.added) known[0] += part.count ?? 0;
        else if (part.removed) known[1] += part.count ?? 0;
      }
    }
    counts.set(diff, known);
  }
  return known;
}
var lines2 = (text) => text === "" ? 0 : text.split("\n").length;
function changesOf(items) {
  const found = /* @__PURE__ */ new Map();
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
var waitingEdits = (talk) => [...talk.calls.values()].filter((call) => call.question !== null && diffsOf(call).length > 0).length;

// src/view/code.tsx
import { signal as signal4 } from "./libraries-c0a40985b0.js";
import { Fragment as Fragment5, jsx as jsx8, jsxs as jsxs7 } from "./libraries-c0a40985b0.js";
var loaded = signal4(null);
var loading = false;
var MOST2 = 6e4;
function highlighter() {
  if (!loading) {
    loading = true;
    void import("./highlighter-68daee1318.js").then((module) => loaded.value = module.highlight);
  }
  return loaded.value;
}
var EXTENSIONS = {
  py: "python",
  pyi: "python",
  js: "javascript",
  mjs: "javascript",
  jsx: "javascript",
  ts: "typescript",
  tsx: "typescript",
  rs: "rust",
  go: "go",
  java: "java",
  c: "c",
  h: "c",
  cc: "c",
  cpp: "c",
  hpp: "c",
  html: "xml",
  xml: "xml",
  svg: "xml",
  json: "json",
  sh: "bash",
  bash: "bash",
  sql: "sql",
  toml: "ini",
  cfg: "ini",
  ini: "ini",
  yml: "yaml",
  yaml: "yaml"
};
var languageOf = (path) => EXTENSIONS[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ""] ?? "";
function pieces(text, language) {
  const known = language !== "" && text.length < MOST2 ? highlighter()?.(text, language) : null;
  return known ?? [{ text, kind: "" }];
}
function pieceLines(text, language) {
  const lines3 = [[]];
  for (const piece of pieces(text, language)) {
    const [first, ...rest] = piece.text.split("\n");
    lines3.at(-1).push({ text: first ?? "", kind: piece.kind });
    for (const one of rest) lines3.push([{ text: one, kind: piece.kind }]);
  }
  return lines3;
}
var Pieces = ({ of }) => jsx8(Fragment5, { children: of.map((piece, index) => piece.kind ? jsx8("span", { class: piece.kind, children: piece.text }, index) : piece.text) });
function Code({ text, language, settled }) {
  return jsxs7("div", { class: "code", children: [
    jsxs7("div", { class: "code-head", children: [
      jsx8("span", { children: language || "text" }),
      jsx8("span", { class: "grow" }),
      jsx8(CopyButton, { text: () => text })
    ] }),
    jsx8("pre", { tabIndex: 0, children: jsx8("code", { children: settled ? jsx8(Pieces, { of: pieces(text, language.toLowerCase()) }) : text }) })
  ] });
}

// src/view/diff.tsx
import { Fragment as Fragment6, jsx as jsx9, jsxs as jsxs8 } from "./libraries-c0a40985b0.js";
var CONTEXT = 3;
var MOST_SHOWN = 400;
var MOST_COMPARED = 4e5;
function rowsOf(before, after) {
  const rows = [];
  let b = 1;
  let a = 1;
  for (const [kind, lines3] of hunks(before, after)) {
    for (const text of lines3) {
      rows.push({ kind, text, before: kind === "add" ? null : b++, after: kind === "del" ? null : a++, marks: [] });
    }
  }
  markWords(rows);
  return rows;
}
function hunks(before, after) {
  const split = (text) => text === "" ? [] : text.replace(/\n$/, "").split("\n");
  if (before.length + after.length < MOST_COMPARED) {
    const parts2 = diffLines2(before, after, { maxEditLength: MOST_EDITS });
    if (parts2 !== void 0) return parts2.map((part) => [part.added ? "add" : part.removed ? "del" : "same", split(part.value)]);
  }
  const old = split(before);
  const now2 = split(after);
  let head = 0;
  while (head < old.length && head < now2.length && old[head] === now2[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < now2.length - head && old[old.length - 1 - tail] === now2[now2.length - 1 - tail]) tail++;
  return [
    ["same", old.slice(0, head)],
    ["del", old.slice(head, old.length - tail)],
    ["add", now2.slice(head, now2.length - tail)],
    ["same", old.slice(old.length - tail)]
  ];
}
function markWords(rows) {
  for (let at = 0; at < rows.length; at++) {
    if (rows[at].kind !== "del") continue;
    let end = at;
    while (rows[end]?.kind === "del") end++;
    let last = end;
    while (rows[last]?.kind === "add") last++;
    const pairs = Math.min(end - at, last - end);
    for (let n = 0; n < pairs && n < 50; n++) {
      const removed = rows[end - pairs + n];
      const added = rows[last - pairs + n];
      if (removed.text.length + added.text.length > 2e3) continue;
      const words = diffWordsWithSpace(removed.text, added.text);
      const same = words.filter((one) => !one.added && !one.removed).reduce((sum, one) => sum + one.value.trim().length, 0);
      if (same * 4 < Math.max(removed.text.length, added.text.length)) continue;
      let r = 0;
      let a = 0;
      for (const one of words) {
        if (one.removed) removed.marks.push([r, r += one.value.length]);
        else if (one.added) added.marks.push([a, a += one.value.length]);
        else {
          r += one.value.length;
          a += one.value.length;
        }
      }
      removed.marks = joined(removed.marks);
      added.marks = joined(added.marks);
    }
    at = last - 1;
  }
}
function joined(marks) {
  const found = [];
  for (const mark of marks) {
    const last = found.at(-1);
    if (last !== void 0 && mark[0] - last[1] <= 2) last[1] = mark[1];
    else found.push(mark);
  }
  return found;
}
function folded(rows) {
  const shown = [];
  let run = [];
  const flush = (atEnd) => {
    const first = shown.length === 0;
    const head = first ? 0 : CONTEXT;
    const tail = atEnd ? 0 : CONTEXT;
    if (run.length > head + tail + 1) {
      shown.push(...run.slice(0, head), { kind: "gap", count: run.length - head - tail, key: run[head].before ?? 0, rows: run.slice(head, run.length - tail) }, ...run.slice(run.length - tail));
    } else shown.push(...run);
    run = [];
  };
  for (const row of rows) {
    if (row.kind === "same") run.push(row);
    else {
      flush(false);
      shown.push(row);
    }
  }
  flush(true);
  return shown;
}
function Diff({ path, before, after, sides, whole = false }) {
  const [opened, setOpened] = useState6(/* @__PURE__ */ new Set());
  const [all, setAll] = useState6(whole);
  const rows = useMemo(() => rowsOf(before, after), [before, after]);
  const language = languageOf(path);
  const colours = useMemo(() => ({ before: pieceLines(before, language), after: pieceLines(after, language) }), [before, after, language, highlighter() !== null]);
  let shown = folded(rows).flatMap((row) => row.kind === "gap" && opened.has(row.key) ? row.rows : [row]);
  const hidden = all ? 0 : Math.max(0, shown.length - MOST_SHOWN);
  if (hidden > 0) shown = shown.slice(0, MOST_SHOWN);
  const open2 = (key) => setOpened(/* @__PURE__ */ new Set([...opened, key]));
  const text = (row) => marked((row.kind === "del" ? colours.before[(row.before ?? 1) - 1] : colours.after[(row.after ?? 1) - 1]) ?? [{ text: row.text, kind: "" }], row.marks);
  return jsxs8("div", { class: "diff-wrap", tabIndex: 0, role: "region", "aria-label": `Change of ${path}`, children: [
    jsx9("table", { class: sides ? "diff sides" : "diff", children: jsx9("tbody", { children: sides ? sideRows(shown, text, open2) : shown.map((row, index) => jsx9(UnifiedRow, { row, text, open: open2 }, index)) }) }),
    hidden > 0 && jsx9("button", { type: "button", class: "linkish more-rows", onClick: () => setAll(true), children: `Show ${hidden} more lines` })
  ] });
}
function GapRow({ gap, open: open2, span }) {
  return jsx9("tr", { class: "h", children: jsx9("td", { colSpan: span, children: jsx9("button", { type: "button", class: "linkish", onClick: () => open2(gap.key), children: `${gap.count} equal ${gap.count === 1 ? "line" : "lines"}` }) }) });
}
function UnifiedRow({ row, text, open: open2 }) {
  if (row.kind === "gap") return jsx9(GapRow, { gap: row, open: open2, span: 4 });
  const sign = row.kind === "add" ? "+" : row.kind === "del" ? "−" : "";
  return jsxs8("tr", { class: row.kind === "add" ? "a" : row.kind === "del" ? "r" : void 0, children: [
    jsx9("td", { class: "ln", "data-n": row.before ?? "" }),
    jsx9("td", { class: "ln", "data-n": row.after ?? "" }),
    jsx9("td", { class: "sg", "data-s": sign, children: sign !== "" && jsx9("span", { class: "hide", children: sign === "+" ? "added" : "removed" }) }),
    jsx9("td", { class: "tx", children: jsx9(Marked, { of: text(row) }) })
  ] });
}
function sideRows(rows, text, open2) {
  const made = [];
  for (let at = 0; at < rows.length; ) {
    const row = rows[at];
    if (row.kind === "gap") {
      made.push(jsx9(GapRow, { gap: row, open: open2, span: 4 }, at));
      at++;
    } else if (row.kind === "same") {
      made.push(jsx9(SideRow, { left: row, right: row, text }, at));
      at++;
    } else {
      const start = at;
      const removed = [];
      const added = [];
      for (let one = rows[at]; one !== void 0 && (one.kind === "del" || one.kind === "add"); one = rows[++at]) (one.kind === "del" ? removed : added).push(one);
      for (let n = 0; n < Math.max(removed.length, added.length); n++) made.push(jsx9(SideRow, { left: removed[n], right: added[n], text }, `${start}.${n}`));
    }
  }
  return made;
}
function SideRow({ left, right, text }) {
  const kind = (row) => row === void 0 ? "z" : row.kind === "del" ? "r" : row.kind === "add" ? "a" : "";
  return jsxs8("tr", { children: [
    jsx9("td", { class: `ln ${kind(left)}`, "data-n": left?.before ?? "" }),
    jsx9("td", { class: `tx ${kind(left)}`, children: left !== void 0 && jsx9(Marked, { of: text(left) }) }),
    jsx9("td", { class: `ln mid ${kind(right)}`, "data-n": right?.after ?? "" }),
    jsx9("td", { class: `tx ${kind(right)}`, children: right !== void 0 && jsx9(Marked, { of: text(right) }) })
  ] });
}
function marked(of, marks) {
  if (marks.length === 0) return of;
  const cut = [];
  let at = 0;
  for (const piece of of) {
    let text = piece.text;
    while (text !== "") {
      const mark = marks.find(([, end]) => end > at);
      const inside = mark !== void 0 && mark[0] <= at;
      const until = mark === void 0 ? text.length : (inside ? mark[1] : mark[0]) - at;
      const part = text.slice(0, Math.max(1, until));
      cut.push({ text: part, kind: inside ? `${piece.kind}!` : piece.kind });
      at += part.length;
      text = text.slice(part.length);
    }
  }
  return cut;
}
function Marked({ of }) {
  return jsxs8(Fragment6, { children: [
    of.map((piece, index) => piece.kind.endsWith("!") ? jsx9("mark", { class: piece.kind.slice(0, -1), children: piece.text }, index) : jsx9(Pieces, { of: [piece] }, index)),
    "\n"
  ] });
}

// src/view/dialogs.tsx
import { Fragment as Fragment7, jsx as jsx10, jsxs as jsxs9 } from "./libraries-c0a40985b0.js";
function Dialogs() {
  return jsxs9(Fragment7, { children: [
    panels.keys.value && jsx10(KeyList, {}),
    panels.renaming.value && jsx10(Rename, {}),
    panels.inviting.value && jsx10(Invite, {}),
    panels.deleting.value && jsx10(Delete, {}),
    panels.review.value && jsx10(Review, {})
  ] });
}
function KeyList() {
  return jsx10(Modal, { label: "Keys", class: "keys-dialog", onClose: () => panels.keys.value = false, children: jsx10("div", { class: "keys", children: KEYS.map(([title, keys]) => jsxs9("div", { children: [
    jsx10("h2", { children: title }),
    jsx10("ul", { children: keys.map(([word, combination]) => jsxs9("li", { children: [
      word,
      jsx10(Keys, { keys: combination })
    ] }, word)) })
  ] }, title)) }) });
}
function Rename() {
  const id = current.value ?? "";
  const [title, setTitle] = useState7(titleOf(entries.value.get(id)));
  const close = () => {
    panels.renaming.value = false;
  };
  const submit = (event) => {
    event.preventDefault();
    void rename(id, title);
    close();
  };
  return jsx10(Modal, { label: "Rename the session", class: "small", onClose: close, children: jsxs9("form", { onSubmit: submit, class: "dialog-form", children: [
    jsx10("label", { for: "new-title", children: "Name of the session" }),
    jsx10("input", { id: "new-title", class: "field", value: title, maxLength: 200, onInput: (event) => setTitle(event.currentTarget.value) }),
    jsxs9("footer", { class: "row-end", children: [
      jsx10("button", { type: "button", class: "btn quiet", onClick: close, children: "Cancel" }),
      jsx10("button", { type: "submit", class: "btn primary", children: "Rename" })
    ] })
  ] }) });
}
function Invite() {
  const [user, setUser] = useState7("");
  const [role, setRole] = useState7("observer");
  const [done, setDone] = useState7("");
  const close = () => {
    panels.inviting.value = false;
  };
  const submit = async (event) => {
    event.preventDefault();
    try {
      await connection.request("_acpella/session/invite", { sessionId: current.value ?? "", user: user.trim(), role });
      setDone(user.trim());
      setUser("");
    } catch (error) {
      tell(error);
    }
  };
  return jsx10(Modal, { label: "Invite somebody", class: "small", onClose: close, children: jsxs9("form", { onSubmit: (event) => void submit(event), class: "dialog-form", children: [
    jsx10("label", { for: "invited", children: "User name on this server" }),
    jsx10("input", { id: "invited", class: "field", value: user, required: true, autoComplete: "off", onInput: (event) => setUser(event.currentTarget.value) }),
    jsx10("p", { class: "hint", children: "The name that stands in the server's token file. The session then shows in their list." }),
    jsxs9("fieldset", { children: [
      jsx10("legend", { children: "They may" }),
      [["observer", "watch"], ["controller", "prompt, and approve if their token allows it"]].map(([value, words]) => jsxs9("label", { class: "pick", children: [
        jsx10("input", { type: "radio", name: "role", checked: role === value, onChange: () => setRole(value) }),
        jsx10("span", { children: words })
      ] }, value))
    ] }),
    done !== "" && jsxs9("p", { class: "hint", role: "status", children: [
      done,
      " is invited."
    ] }),
    jsxs9("footer", { class: "row-end", children: [
      jsx10("button", { type: "button", class: "btn quiet", onClick: close, children: "Close" }),
      jsx10("button", { type: "submit", class: "btn primary", children: "Invite" })
    ] })
  ] }) });
}
function Delete() {
  const id = current.value ?? "";
  const close = () => {
    panels.deleting.value = false;
  };
  return jsx10(Modal, { label: "Delete the session", class: "small", onClose: close, children: jsxs9("div", { class: "dialog-form", children: [
    jsxs9("h2", { children: [
      "Delete “",
      titleOf(entries.value.get(id)),
      "”?"
    ] }),
    jsx10("p", { class: "dim", children: "The agent deletes the conversation. Files that it changed stay as they are." }),
    jsxs9("footer", { class: "row-end", children: [
      jsx10("button", { type: "button", class: "btn quiet", onClick: close, children: "Keep it" }),
      jsxs9("button", { type: "button", class: "btn danger", onClick: () => {
        close();
        void remove(id);
      }, children: [
        jsx10(Icon, { name: "delete", size: 14 }),
        "Delete"
      ] })
    ] })
  ] }) });
}
function Review() {
  const talk = currentTalk.value;
  const [sides, setSides] = useState7(innerWidth > 1e3);
  const close = () => {
    panels.review.value = false;
  };
  if (talk === null) return null;
  talk.version.value;
  const cwd = entries.value.get(talk.id)?.cwd ?? "";
  const diffs = talk.conversation.items.flatMap((item) => item.kind === "tool" && item.status === "completed" ? diffsOf(item) : []);
  return jsxs9(Modal, { label: "Changes of this session", class: "wide", onClose: close, children: [
    jsxs9("header", { class: "dialog-head plain-head", children: [
      jsx10("h2", { children: "Changes of this session" }),
      jsxs9("span", { class: "tabs", role: "group", "aria-label": "Layout", children: [
        jsx10("button", { type: "button", "aria-pressed": !sides, onClick: () => setSides(false), children: "Unified" }),
        jsx10("button", { type: "button", "aria-pressed": sides, onClick: () => setSides(true), children: "Split" })
      ] }),
      jsx10("button", { type: "button", class: "icon", "aria-label": "Close", onClick: close, children: jsx10(Icon, { name: "cross" }) })
    ] }),
    jsxs9("div", { class: "dialog-body", children: [
      diffs.length === 0 && jsx10("p", { class: "dim", children: "Nothing was changed through the agent's edits." }),
      diffs.map((diff, index) => jsxs9("div", { class: "what", children: [
        jsx10("div", { class: "file-head mono", children: shortPath(asText(diff.path), cwd) }),
        jsx10(Diff, { path: asText(diff.path), before: asText(diff.oldText), after: asText(diff.newText), sides })
      ] }, index))
    ] })
  ] });
}

// src/view/notices.ts
import { effect, useEffect as useEffect4 } from "./libraries-c0a40985b0.js";
function useNotices() {
  useEffect4(() => {
    const told = /* @__PURE__ */ new Set();
    return effect(() => {
      const all = [...entries.value.values()];
      const waiting = all.filter((one) => one.state === "waiting");
      const shown = entries.value.get(current.value ?? "");
      const mark = waiting.length > 0 ? "(!) " : shown?.state === "running" ? "● " : "";
      document.title = `${mark}${shown === void 0 ? "acpella" : `${titleOf(shown)} · acpella`}`;
      for (const entry of all) {
        if (entry.state !== "waiting") told.delete(entry.sessionId);
        else if (!told.has(entry.sessionId)) {
          told.add(entry.sessionId);
          if (document.hidden && "Notification" in window && Notification.permission === "granted") {
            const notice = new Notification(`${titleOf(entry)} waits for you`, { body: connection.welcome.value?.agent ?? "", tag: entry.sessionId });
            notice.onclick = () => {
              focus();
              void open(entry.sessionId);
              notice.close();
            };
          }
        }
      }
    });
  }, []);
}

// src/view/panel.tsx
import { useMemo as useMemo4 } from "./libraries-c0a40985b0.js";

// src/view/tool.tsx
import { Component as Component2, useState as useState11 } from "./libraries-c0a40985b0.js";

// src/view/content.tsx
import { useEffect as useEffect5, useMemo as useMemo2, useState as useState9 } from "./libraries-c0a40985b0.js";

// src/text/links.ts
var SCHEMES = ["http:", "https:", "mailto:"];
function linkOf(href, text) {
  let url;
  try {
    url = new URL(href);
  } catch {
    return null;
  }
  if (!SCHEMES.includes(url.protocol)) return null;
  const host = url.protocol === "mailto:" ? url.pathname : url.host;
  return { href: url.href, host, deceives: looksLikeOther(text.trim(), url) };
}
function looksLikeOther(text, url) {
  const claimed = /^(?:https?:\/\/)?((?:[\w-]+\.)+[a-z]{2,})(?:[/:?#]\S*)?$/i.exec(text)?.[1];
  if (claimed === void 0 || url.protocol === "mailto:") return false;
  const bare = (name2) => name2.toLowerCase().replace(/^www\./, "");
  return bare(claimed) !== bare(url.hostname) && bare(claimed) !== bare(url.host);
}
function filePath(uri) {
  if (!uri.startsWith("file://")) return null;
  try {
    return decodeURIComponent(new URL(uri).pathname);
  } catch {
    return null;
  }
}

// src/view/markdown.tsx
import { Component, lexer, useState as useState8 } from "./libraries-c0a40985b0.js";
import { Fragment as Fragment8, jsx as jsx11, jsxs as jsxs10 } from "./libraries-c0a40985b0.js";
var MOST3 = 4e5;
var ENDS = 1e4;
var CHUNK = 24;
function warmUp() {
  const all = "# a\n\nb *c* **d** `e` [f](g) <h> ~~i~~ https://j.k\n\n- l\n  1. m\n\n> n\n\n```o\np\n```\n\n| q |\n|---|\n| r |\n";
  for (let round = 0; round < 20; round++) lexer(all);
}
var Markdown = class extends Component {
  #settled = [[]];
  #at = 0;
  #seen = "";
  shouldComponentUpdate(next) {
    return next.text !== this.props.text || next.done !== this.props.done;
  }
  render({ text, done }) {
    if (text.length > MOST3) return jsx11(Long, { text });
    if (!text.startsWith(this.#seen.slice(0, 64)) || text.length < this.#at) this.#reset();
    this.#seen = text;
    const tail = read(text.slice(this.#at));
    while (tail.length > 2) {
      const block3 = tail.shift();
      if (this.#settled.at(-1).length >= CHUNK) this.#settled.push([]);
      this.#settled.at(-1).push(block3);
      this.#at += block3.raw.length;
    }
    return jsxs10(Fragment8, { children: [
      this.#settled.map((tokens, index) => jsx11(Settled, { tokens, count: tokens.length }, index)),
      tail.map((token, index) => jsx11(Block, { token, settled: done }, `t${index}`))
    ] });
  }
  #reset() {
    this.#settled = [[]];
    this.#at = 0;
  }
};
function Long({ text }) {
  const [all, setAll] = useState8(false);
  if (all) return jsx11("pre", { class: "plain", children: text });
  return jsxs10(Fragment8, { children: [
    jsx11("pre", { class: "plain", children: text.slice(0, ENDS) }),
    jsxs10("div", { class: "term-cut", children: [
      jsx11("span", { children: `${amount(text.length - 2 * ENDS)} characters are not shown` }),
      jsx11("button", { type: "button", class: "linkish", onClick: () => setAll(true), children: "Show all" })
    ] }),
    jsx11("pre", { class: "plain", children: text.slice(-ENDS) })
  ] });
}
var Settled = class extends Component {
  shouldComponentUpdate(next) {
    return next.count !== this.props.count;
  }
  render({ tokens }) {
    const blocks2 = tokens.map((token, index) => jsx11(Block, { token, settled: true }, index));
    return tokens.length < CHUNK ? blocks2 : jsx11("div", { class: "settled", children: blocks2 });
  }
};
function read(text) {
  try {
    return lexer(text, { gfm: true });
  } catch {
    return [{ type: "paragraph", raw: text, text, tokens: [{ type: "text", raw: text, text }] }];
  }
}
var Block = class extends Component {
  shouldComponentUpdate(next) {
    return next.token.raw !== this.props.token.raw || next.settled !== this.props.settled;
  }
  render({ token, settled }) {
    return block2(token, settled);
  }
};
function block2(token, settled) {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const inside = inline(token.tokens);
      return token.depth <= 2 ? jsx11("h2", { children: inside }) : jsx11("h3", { children: inside });
    }
    case "paragraph":
      return jsx11("p", { children: inline(token.tokens) });
    case "text":
      return jsx11("p", { children: inline(token.tokens ?? [token]) });
    case "code": {
      const code = token;
      return jsx11(Code, { text: code.text, language: (code.lang ?? "").split(/\s/)[0] ?? "", settled });
    }
    case "blockquote":
      return jsx11("blockquote", { children: blocks(token.tokens, settled) });
    case "hr":
      return jsx11("hr", {});
    case "list":
      return list(token, settled);
    case "table":
      return table(token);
    case "html":
      return jsx11("p", { class: "as-is", children: token.raw.trim() });
    default:
      return jsx11("p", { children: token.raw });
  }
}
var blocks = (tokens, settled) => tokens.map((token, index) => jsx11(Block, { token, settled }, index));
function list(token, settled) {
  const items = token.items.map((item, index) => jsxs10("li", { class: item.task ? "task" : void 0, children: [
    item.task && jsx11("span", { class: "task-box", role: "img", "aria-label": item.checked ? "done" : "open", children: item.checked && jsx11(Icon, { name: "check", size: 11 }) }),
    item.tokens.filter((one) => one.type !== "checkbox").map((one, at) => one.type === "text" ? jsx11("span", { children: inline(one.tokens ?? [one]) }, at) : jsx11(Block, { token: one, settled }, at))
  ] }, index));
  return token.ordered ? jsx11("ol", { start: typeof token.start === "number" ? token.start : 1, children: items }) : jsx11("ul", { children: items });
}
function table(token) {
  const side = (index) => token.align[index] === "right" ? "end" : token.align[index] === "center" ? "mid" : void 0;
  return jsx11("div", { class: "scroll-x", tabIndex: 0, role: "region", "aria-label": "Table", children: jsxs10("table", { children: [
    jsx11("thead", { children: jsx11("tr", { children: token.header.map((cell, index) => jsx11("th", { class: side(index), children: inline(cell.tokens) }, index)) }) }),
    jsx11("tbody", { children: token.rows.map((row, at) => jsx11("tr", { children: row.map((cell, index) => jsx11("td", { class: side(index), children: inline(cell.tokens) }, index)) }, at)) })
  ] }) });
}
function inline(tokens) {
  return (tokens ?? []).map((token, index) => jsx11(Inline, { token }, index));
}
function Inline({ token }) {
  switch (token.type) {
    case "text":
    case "escape": {
      const inner = token.tokens;
      return inner !== void 0 && inner.length > 0 ? inline(inner) : jsx11(Visible, { text: unescape(token.text) });
    }
    case "strong":
      return jsx11("strong", { children: inline(token.tokens) });
    case "em":
      return jsx11("em", { children: inline(token.tokens) });
    case "del":
      return jsx11("s", { children: inline(token.tokens) });
    case "codespan":
      return jsx11("code", { children: jsx11(Visible, { text: unescape(token.text) }) });
    case "br":
      return jsx11("br", {});
    case "link": {
      const link = token;
      return jsx11(Anchor, { href: link.href, text: link.text, children: inline(link.tokens) });
    }
    case "image": {
      const image = token;
      return jsx11(Elsewhere, { what: "image", href: image.href, text: image.text });
    }
    default:
      return jsx11(Visible, { text: token.raw });
  }
}
function unescape(text) {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (whole, name2) => ({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" })[name2] ?? whole);
}
function Anchor({ href, text, children }) {
  const link = linkOf(href, text);
  if (link === null) return jsx11("span", { class: "no-link", title: href, children });
  return jsxs10(Fragment8, { children: [
    jsx11("a", { href: link.href, target: "_blank", rel: "noopener noreferrer", title: link.href, children }),
    (link.deceives || !text.includes(link.host)) && jsxs10("span", { class: link.deceives ? "leads wrong" : "leads", children: [
      link.deceives && jsx11(Icon, { name: "alert", size: 12 }),
      link.host
    ] })
  ] });
}
function Elsewhere({ what, href, text }) {
  return jsxs10("span", { class: "elsewhere", children: [
    jsx11(Icon, { name: "image", size: 14 }),
    jsx11("span", { children: text || what }),
    " ",
    jsx11(Anchor, { href, text: "", children: "open" })
  ] });
}

// src/view/content.tsx
import { Fragment as Fragment9, jsx as jsx12, jsxs as jsxs11 } from "./libraries-c0a40985b0.js";
var IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/svg+xml"];
function useBlob(data, kind) {
  const made = useMemo2(() => {
    try {
      const text = atob(data.replace(/\s/g, ""));
      const buffer = new Uint8Array(text.length);
      for (let at = 0; at < text.length; at++) buffer[at] = text.charCodeAt(at);
      return { url: URL.createObjectURL(new Blob([buffer], { type: kind })), size: buffer.length };
    } catch {
      return null;
    }
  }, [data, kind]);
  useEffect5(() => () => {
    if (made !== null) URL.revokeObjectURL(made.url);
  }, [made]);
  return made;
}
function Picture({ data, kind, name: name2 }) {
  const blob = useBlob(data, kind);
  const [size, setSize] = useState9("");
  const [large, setLarge] = useState9(false);
  const [broken, setBroken] = useState9(false);
  if (!IMAGES.includes(kind) || blob === null || broken) return jsxs11("p", { class: "note warn", children: [
    jsx12(Icon, { name: "alert", size: 14 }),
    jsxs11("span", { children: [
      "An image that cannot be shown (",
      plain(kind) || "no type",
      ")."
    ] })
  ] });
  return jsxs11(Fragment9, { children: [
    jsxs11("button", { type: "button", class: "shot", onClick: () => setLarge(true), "aria-label": `Show ${name2} larger`, children: [
      jsx12(
        "img",
        {
          src: blob.url,
          alt: name2,
          width: "56",
          height: "38",
          onError: () => setBroken(true),
          onLoad: (event) => setSize(`${event.currentTarget.naturalWidth} × ${event.currentTarget.naturalHeight} · `)
        }
      ),
      jsxs11("span", { children: [
        jsx12("b", { children: name2 }),
        jsxs11("small", { children: [
          size,
          bytes(blob.size)
        ] })
      ] })
    ] }),
    large && jsx12(Modal, { label: name2, class: "picture", onClose: () => setLarge(false), children: jsx12("img", { src: blob.url, alt: name2 }) })
  ] });
}
function Sound({ data, kind }) {
  const blob = useBlob(data, kind);
  if (blob === null) return jsx12("p", { class: "note warn", children: "A sound that cannot be played." });
  return jsxs11("figure", { class: "sound", children: [
    jsx12("audio", { controls: true, src: blob.url }),
    jsxs11("figcaption", { children: [
      plain(kind),
      " · ",
      bytes(blob.size)
    ] })
  ] });
}
function ContentBlock({ block: block3, done = true }) {
  const raw = block3.raw;
  switch (block3.type) {
    case "text":
      return jsx12("div", { class: "prose", children: jsx12(Markdown, { text: asText(raw.text), done }) });
    case "image":
      if (typeof raw.data !== "string" || raw.data === "") return jsx12(FileLink, { uri: asText(raw.uri), name: "image", size: null });
      return jsx12(Picture, { data: raw.data, kind: asText(raw.mimeType), name: nameOf(asText(raw.uri)) || "image" });
    case "audio":
      return jsx12(Sound, { data: asText(raw.data), kind: asText(raw.mimeType) });
    case "resource_link":
      return jsx12(FileLink, { uri: asText(raw.uri), name: asText(raw.title) || asText(raw.name), size: asNumber(raw.size) });
    case "resource": {
      const resource = asObj(raw.resource);
      if (typeof resource.blob === "string" && IMAGES.includes(asText(resource.mimeType))) return jsx12(Picture, { data: resource.blob, kind: asText(resource.mimeType), name: nameOf(asText(resource.uri)) });
      return jsxs11("details", { class: "fold", children: [
        jsxs11("summary", { children: [
          jsx12(Icon, { name: "chevron", size: 12, class: "chev" }),
          jsx12("span", { class: "mono", children: nameOf(asText(resource.uri)) || "resource" })
        ] }),
        jsx12("pre", { class: "raw", children: jsx12(Visible, { text: asText(resource.text) || "(not text)" }) })
      ] });
    }
    default:
      return jsx12(Raw, { value: raw });
  }
}
var nameOf = (uri) => plain(decode(uri.split(/[/\\]/).at(-1) ?? ""));
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
function FileLink({ uri, name: name2, size }) {
  const path = filePath(uri);
  const link = linkOf(uri, "");
  return jsxs11("span", { class: "file-link", children: [
    jsx12(Icon, { name: link === null ? "read" : "fetch", size: 14 }),
    link === null ? jsx12("span", { class: "mono", children: plain(path ?? (name2 || uri)) }) : jsx12(Anchor, { href: uri, text: name2, children: plain(name2 || uri) }),
    size !== null && jsx12("small", { children: bytes(size) }),
    link === null && jsx12(CopyButton, { text: () => path ?? uri, label: "Copy the path" })
  ] });
}
function Raw({ value, name: name2 }) {
  const text = useMemo2(() => {
    const whole = JSON.stringify(value, null, 2) ?? "undefined";
    return whole.length > 2e5 ? `${whole.slice(0, 2e5)}
… ${whole.length - 2e5} more characters` : whole;
  }, [value]);
  return jsxs11("pre", { class: "raw", tabIndex: 0, "aria-label": name2 ?? "Raw data", children: [
    name2 !== void 0 && jsxs11("span", { class: "c", children: [
      name2,
      " "
    ] }),
    jsx12(Visible, { text })
  ] });
}

// src/view/terminal.tsx
import { useMemo as useMemo3, useState as useState10 } from "./libraries-c0a40985b0.js";

// src/text/terminal.ts
import { Anser } from "./libraries-c0a40985b0.js";
var COLOURS = {
  black: "8",
  red: "1",
  green: "2",
  yellow: "3",
  blue: "4",
  magenta: "5",
  cyan: "6",
  white: "7"
};
function terminalLines(output) {
  return clean(output).split("\n").map(line);
}
function clean(output) {
  return output.replace(/\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\|$)/g, "").replace(/\u001b[P^_X][^\u001b]*(?:\u001b\\|$)/g, "").replace(/\r\n/g, "\n").replace(/\u001b\[[0-9;?]*[A-JL-Zac-ln-z]/g, "").replace(/\u001b[()#%][A-Za-z0-9]|\u001b[=>78cDEHMNOZ]/g, "").replace(/[\u0000-\u0007\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g, "");
}
function line(text) {
  if (text.includes("\r") || text.includes("\b") || text.includes("\x1B[K") || /\u001b\[[012]K/.test(text)) text = overwritten(text);
  return Anser.ansiToJson(text, { json: true, remove_empty: true, use_classes: true }).map((one) => ({ text: one.content.replace(/\u001b/g, ""), kind: kindOf(one) }));
}
function overwritten(text) {
  const segments = text.split("\r");
  let shown = "";
  for (const segment of segments) {
    const erased = segment.replace(/^(?:\u001b\[[0-9;]*m)*\u001b\[[02]?K/, () => {
      shown = "";
      return "";
    });
    const rest = erased.replace(/\u001b\[[012]?K/g, "");
    const width = rest.replace(/\u001b\[[0-9;]*m/g, "").length;
    const plainBefore = shown.replace(/\u001b\[[0-9;]*m/g, "");
    shown = width === 0 ? shown : rest + plainBefore.slice(width);
  }
  while (/[^\b]\u0008/.test(shown)) shown = shown.replace(/[^\b]\u0008/, "");
  return shown.replace(/\u0008/g, "");
}
function kindOf(one) {
  const kinds = [];
  const colour = (value) => COLOURS[(value ?? "").replace(/^ansi-(?:bright-)?/, "")];
  const fore = colour(one.fg);
  const back = colour(one.bg);
  if (fore !== void 0) kinds.push(`fg-${fore}`);
  if (back !== void 0) kinds.push(`bg-${back}`);
  const decorations = one.decorations ?? [];
  if (decorations.includes("bold")) kinds.push("b");
  if (decorations.includes("underline")) kinds.push("u");
  if (decorations.includes("reverse")) kinds.push("v");
  if (decorations.includes("dim")) kinds.push("fg-8");
  return kinds.join(" ");
}

// src/view/terminal.tsx
import { Fragment as Fragment10, jsx as jsx13, jsxs as jsxs12 } from "./libraries-c0a40985b0.js";
var LAST = 24;
var MOST4 = 5e3;
function TerminalOutput({ output, command, whole = false }) {
  const [all, setAll] = useState10(whole);
  const lines3 = useMemo3(() => terminalLines(output.replace(/\n$/, "")), [output]);
  const long = lines3.length > LAST + 4;
  const shown = all || !long ? lines3.slice(-MOST4) : lines3.slice(-LAST);
  return jsxs12(Fragment10, { children: [
    long && jsxs12("div", { class: "term-cut", children: [
      jsx13("span", { children: shown.length < lines3.length ? `Last ${shown.length} of ${lines3.length} lines` : `${lines3.length} lines` }),
      jsx13("button", { type: "button", class: "linkish", "aria-expanded": all, onClick: () => setAll(!all), children: all ? "Show the end" : "Show all" })
    ] }),
    jsxs12("pre", { class: "term", tabIndex: 0, "aria-label": "Output", children: [
      command !== "" && jsxs12("span", { class: "cmd", children: [
        jsx13(Visible, { text: command }),
        "\n"
      ] }),
      shown.map((line2, index) => jsx13(Line, { runs: line2, last: index === shown.length - 1 }, index))
    ] })
  ] });
}
function Line({ runs, last }) {
  return jsxs12(Fragment10, { children: [
    runs.map((run, index) => run.kind ? jsx13("span", { class: run.kind, children: run.text }, index) : run.text),
    last ? "" : "\n"
  ] });
}

// src/view/tool.tsx
import { Fragment as Fragment11, jsx as jsx14, jsxs as jsxs13 } from "./libraries-c0a40985b0.js";
var ToolCard = class extends Component2 {
  shouldComponentUpdate(next) {
    return next.version !== this.props.version || next.call !== this.props.call || next.cwd !== this.props.cwd;
  }
  render(props) {
    return jsx14(Card, { ...props });
  }
};
function outputs(call, terminals) {
  const shown = call.content.filter((one) => one.type === "terminal").map((one) => terminals.get(asText(one.terminalId))).filter((one) => one !== void 0).map((one) => ({ key: one.id, output: one.output, command: one.command, exit: exitOf(one.exit) }));
  if (call.output !== "" || call.exit !== null) shown.push({ key: "own", output: call.output, command: commandOf(call.rawInput), exit: exitOf(call.exit) });
  return shown;
}
function exitOf(exit) {
  if (exit === null) return null;
  const code = asNumber(exit.code ?? exit.exit_code ?? exit.exitCode);
  const signal6 = asText(exit.signal);
  if (signal6 !== "") return { text: signal6, ok: false };
  return code === null ? null : { text: `exit ${code}`, ok: code === 0 };
}
function Card({ call, cwd, terminals, compact = false }) {
  const diffs = diffsOf(call);
  const commands = outputs(call, terminals);
  const others = call.content.filter((one) => one.type !== "terminal" && !(one.type === "diff" && typeof one.newText === "string"));
  const isCard = !compact && (diffs.length > 0 || commands.length > 0 || call.question !== null || call.tool === "execute" || call.status === "failed");
  const [opened, setOpened] = useState11(null);
  const [raw, setRaw] = useState11(false);
  const [sides, setSides] = useState11(false);
  const bySelf = isCard && call.status !== "pending" && (diffs.length > 0 || commands.some((one) => one.output !== ""));
  const open2 = opened ?? bySelf;
  const location2 = call.locations[0];
  const where = location2 === void 0 ? "" : shortPath(asText(location2.path), cwd) + (asNumber(location2.line) === null ? "" : `:${String(location2.line)}`);
  const title = plain(call.title) || plain(call.name) || "Tool call";
  const command = commandOf(call.rawInput);
  const beside = command !== "" && call.tool === "execute" && commands.length === 0 ? command : where;
  return jsxs13("details", { class: `tool${isCard ? " card" : ""}`, "data-kind": call.tool, "data-status": call.question === null ? call.status : "waiting", "data-call": call.id, open: open2, onToggle: (event) => setOpened(event.currentTarget.open), children: [
    jsxs13("summary", { children: [
      jsx14(Icon, { name: kindIcon(call.tool) }),
      jsx14("span", { class: "tool-name", children: title }),
      beside !== "" && !title.includes(beside) && jsx14("span", { class: "tool-loc", children: plain(beside) }),
      jsxs13("span", { class: "tool-end", children: [
        jsx14(End, { call, diffs, commands }),
        jsx14(Icon, { name: "chevron", size: 12, class: "chev" })
      ] })
    ] }),
    open2 && jsxs13("div", { class: "tool-body", children: [
      diffs.map((diff, index) => jsxs13("div", { children: [
        diffs.length > 1 && jsx14("div", { class: "file-head mono", children: shortPath(asText(diff.path), cwd) }),
        jsx14(Diff, { path: asText(diff.path), before: asText(diff.oldText), after: asText(diff.newText), sides })
      ] }, index)),
      commands.map((one) => jsx14(TerminalOutput, { output: one.output, command: one.command || command }, one.key)),
      others.map((one, index) => jsx14("div", { class: "tool-content", children: one.type === "content" ? jsx14(ToolText, { content: asObj(one.content) }) : jsx14(Raw, { value: one }) }, index)),
      call.locations.length > 1 && jsx14("ul", { class: "places", children: call.locations.map((one, index) => jsxs13("li", { class: "mono", children: [
        plain(shortPath(asText(one.path), cwd)),
        asNumber(one.line) === null ? "" : `:${String(one.line)}`
      ] }, index)) }),
      raw && call.rawInput !== void 0 && jsx14(Raw, { name: "rawInput", value: call.rawInput }),
      raw && call.rawOutput !== void 0 && jsx14(Raw, { name: "rawOutput", value: call.rawOutput }),
      (call.decision !== null || diffs.length > 0 || call.rawInput !== void 0 || call.rawOutput !== void 0) && jsxs13("div", { class: "tool-foot", children: [
        call.decision !== null && jsxs13(Fragment11, { children: [
          jsx14(Icon, { name: "shield", size: 14 }),
          jsx14("span", { children: decided(call.decision) })
        ] }),
        jsx14("span", { class: "grow" }),
        (call.rawInput !== void 0 || call.rawOutput !== void 0) && jsx14("button", { type: "button", class: "btn quiet small", "aria-expanded": raw, onClick: () => setRaw(!raw), children: "Raw data" }),
        diffs.length > 0 && jsxs13("span", { class: "tabs", role: "group", "aria-label": "Layout of the change", children: [
          jsx14("button", { type: "button", "aria-pressed": !sides, onClick: () => setSides(false), children: "Unified" }),
          jsx14("button", { type: "button", "aria-pressed": sides, onClick: () => setSides(true), children: "Split" })
        ] })
      ] })
    ] })
  ] });
}
function ToolText({ content }) {
  if (content.type !== "text") return jsx14(ContentBlock, { block: { type: asText(content.type), raw: content } });
  const text = asText(content.text);
  const fenced = /^```[^\n]*\n([\s\S]*?)\n?```\s*$/.exec(text);
  return jsx14(TerminalOutput, { output: fenced?.[1] ?? text, command: "" });
}
function End({ call, diffs, commands }) {
  const running = isOpen(call) && call.question === null;
  const now2 = useNow(100, running);
  const exit = commands.map((one) => one.exit).find((one) => one !== null) ?? null;
  let added = 0;
  let removed = 0;
  for (const diff of diffs) {
    const [plus, minus] = count(diff);
    added += plus;
    removed += minus;
  }
  return jsxs13(Fragment11, { children: [
    diffs.length > 0 && jsx14(PlusMinus, { added, removed }),
    call.question !== null && jsx14("span", { class: "wait", children: "waits for you" }),
    running && jsxs13(Fragment11, { children: [
      jsx14(StateGlyph, { state: "running" }),
      jsx14("span", { class: "go", children: call.status === "pending" ? "pending" : "running" })
    ] }),
    exit !== null && jsx14("span", { class: exit.ok ? "ok" : "bad", children: exit.text }),
    call.status === "failed" && (exit === null || exit.ok) && jsx14("span", { class: "bad", children: call.decision !== null && call.decision.optionKind.startsWith("reject") ? "rejected" : "failed" }),
    (call.status === "cancelled" || call.status === "unfinished") && jsx14("span", { children: call.status }),
    call.status === "completed" && exit === null && diffs.length === 0 && jsx14(Icon, { name: "check", size: 13, class: "ok" }),
    jsx14("span", { class: "num took", children: duration((call.until || now2) - call.at) })
  ] });
}
function PlusMinus({ added, removed }) {
  return jsxs13("span", { class: "plusminus", children: [
    (added > 0 || removed === 0) && jsxs13("ins", { children: [
      "+",
      added
    ] }),
    added > 0 && removed > 0 && " ",
    removed > 0 && jsxs13("del", { children: [
      "−",
      removed
    ] })
  ] });
}
function decided(decision) {
  if (decision.elsewhere) return jsxs13(Fragment11, { children: [
    "Answered elsewhere after ",
    duration(decision.ms)
  ] });
  if (decision.cancelled) return "Nobody answered; the turn was stopped";
  const words = { allow_once: "Allowed once", allow_always: "Always allowed", reject_once: "Rejected", reject_always: "Always rejected" };
  return jsxs13(Fragment11, { children: [
    words[decision.optionKind] ?? `“${plain(decision.name)}”`,
    decision.by !== null && jsxs13(Fragment11, { children: [
      " by ",
      jsx14("b", { children: plain(decision.by) })
    ] }),
    " after ",
    duration(decision.ms)
  ] });
}

// src/view/panel.tsx
import { Fragment as Fragment12, jsx as jsx15, jsxs as jsxs14 } from "./libraries-c0a40985b0.js";
function Panel({ talk }) {
  return jsxs14("aside", { class: "panel", "aria-label": "Plan, files, usage, people, wire", children: [
    jsx15(PlanSection, { talk }),
    jsx15(FilesSection, { talk }),
    jsx15(UsageSection, { talk }),
    jsx15(PeopleSection, { talk }),
    jsx15(WireSection, {})
  ] });
}
var doneOf = (plan) => `${plan.filter((one) => one.status === "completed").length} of ${plan.length}`;
function Plan({ plan }) {
  return jsx15("ol", { class: "plan", children: plan.map((one, index) => jsxs14("li", { "data-status": one.status, children: [
    jsx15(Icon, { name: one.status === "completed" ? "check" : one.status === "in_progress" ? "half" : "ring", size: 15 }),
    jsxs14("span", { children: [
      plain(one.content),
      jsxs14("span", { class: "hide", children: [
        ", ",
        plain(one.status.replace("_", " "))
      ] })
    ] })
  ] }, index)) });
}
function PlanSection({ talk }) {
  talk.version.value;
  const plan = talk.conversation.plan;
  if (plan.length === 0) return null;
  return jsxs14("section", { class: "sect", children: [
    jsxs14("h2", { children: [
      "Plan",
      jsx15("span", { class: "num", children: doneOf(plan) })
    ] }),
    jsx15(Plan, { plan })
  ] });
}
function PlanStrip({ talk }) {
  talk.version.value;
  const plan = talk.conversation.plan;
  if (plan.length === 0) return null;
  const now2 = plan.find((one) => one.status === "in_progress") ?? plan.find((one) => one.status !== "completed") ?? plan.at(-1);
  return jsxs14("details", { class: "plan-strip", children: [
    jsxs14("summary", { children: [
      jsx15("span", { class: "dots", "aria-hidden": "true", children: plan.slice(0, 8).map((one, index) => jsx15("i", { class: one.status === "completed" ? "d" : one.status === "in_progress" ? "g" : "" }, index)) }),
      jsx15("b", { class: "cut grow", children: plain(now2.content) }),
      jsx15("span", { class: "dim num", children: doneOf(plan) }),
      jsx15(Icon, { name: "down", size: 12 })
    ] }),
    jsx15(Plan, { plan })
  ] });
}
function FilesSection({ talk }) {
  talk.version.value;
  const changes = useMemo4(() => changesOf(talk.conversation.items), [talk.version.value, talk]);
  const waiting = waitingEdits(talk.conversation);
  const cwd = entries.value.get(talk.id)?.cwd ?? "";
  return jsxs14("section", { class: "sect", children: [
    jsxs14("h2", { children: [
      "Files changed",
      jsx15("span", { children: changes.length > 0 ? jsx15("button", { type: "button", class: "linkish", onClick: () => panels.review.value = true, children: "Review" }) : "0" })
    ] }),
    changes.length === 0 && jsxs14("p", { class: "dim", children: [
      "None yet.",
      waiting > 0 && ` ${waiting === 1 ? "One edit waits" : `${waiting} edits wait`} for an answer.`
    ] }),
    changes.map((one) => jsxs14("div", { class: "file", children: [
      jsx15("span", { class: "cut", children: plain(shortPath(one.path, cwd)) }),
      jsx15(PlusMinus, { added: one.added, removed: one.removed })
    ] }, one.path))
  ] });
}
var COUNTS = [["inputTokens", "Read"], ["outputTokens", "Written"], ["cachedReadTokens", "Read from cache"], ["thoughtTokens", "Thought"]];
function UsageSection({ talk }) {
  talk.version.value;
  const usage = talk.conversation.usage;
  const used = asNumber(usage.used);
  const size = asNumber(usage.size);
  const cost = asObj(usage.cost);
  const spent = asNumber(cost.amount);
  const last = talk.conversation.items.findLast((item) => item.kind === "end");
  const turn = last?.kind === "end" ? last.usage : {};
  const counts2 = COUNTS.map(([name2, word]) => [word, asNumber(turn[name2])]).filter(([, value]) => value !== null && value > 0);
  if (used === null && spent === null && counts2.length === 0) return null;
  const share = used !== null && size !== null && size > 0 ? used / size : null;
  return jsxs14("section", { class: "sect", children: [
    jsxs14("h2", { children: [
      "Usage",
      spent !== null && jsx15("span", { class: "num", children: money(spent, asText(cost.currency) || "USD") })
    ] }),
    share !== null && jsx15(Meter, { share, label: `${Math.round(share * 100)} % of the context used` }),
    jsxs14("dl", { class: "pairs", children: [
      used !== null && jsxs14(Fragment12, { children: [
        jsx15("dt", { children: "Context" }),
        jsxs14("dd", { children: [
          amount(used),
          size !== null && ` of ${amount(size)}`,
          share !== null && ` · ${Math.round(share * 100)} %`
        ] })
      ] }),
      counts2.map(([word, value]) => [jsxs14("dt", { children: [
        word,
        ", last turn"
      ] }, word), jsx15("dd", { children: amount(value ?? 0) }, `${word}v`)])
    ] })
  ] });
}
function PeopleSection({ talk }) {
  const people = talk.people.value;
  const me = connection.welcome.value?.user;
  const isOwner = entries.value.get(talk.id)?.owner === me;
  if (people.length === 0) return null;
  return jsxs14("section", { class: "sect", children: [
    jsxs14("h2", { children: [
      "People",
      jsx15("span", { children: isOwner ? jsx15("button", { type: "button", class: "linkish", onClick: () => panels.inviting.value = true, children: "Invite" }) : people.length })
    ] }),
    people.map((one) => jsxs14("div", { class: "who", children: [
      jsx15(Avatar, { name: one.name || "?", big: true }),
      jsxs14("span", { children: [
        jsx15("b", { children: plain(one.name) || "You" }),
        jsxs14("small", { children: [
          one.role === "observer" ? "watches" : one.approves ? one.owner ? "controls" : "may prompt and approve" : "may prompt",
          one.name === me && " · you"
        ] })
      ] })
    ] }, one.name))
  ] });
}
function hasInspector() {
  const welcome = connection.welcome.value;
  return window === top && welcome !== null && welcome.inspector;
}
function WireSection({ most = 6 }) {
  useNow(1e3);
  const lines3 = wire.value.slice(-most).reverse();
  const now2 = performance.now();
  return jsxs14("section", { class: "sect", children: [
    jsxs14("h2", { children: [
      "Wire",
      hasInspector() && jsx15("span", { children: jsx15("a", { class: "linkish", href: "/inspect", target: "_blank", rel: "opener", children: "Open inspector" }) })
    ] }),
    lines3.map((line2, index) => jsxs14("div", { class: "mini", children: [
      jsx15(Icon, { name: line2.out ? "right" : "left", size: 11, class: line2.out ? "to-out" : "to-in" }),
      jsxs14("b", { children: [
        plain(line2.name),
        line2.count > 1 && ` ×${line2.count}`
      ] }),
      jsx15("span", { children: duration(now2 - line2.at) })
    ] }, index))
  ] });
}

// src/view/questions.tsx
import { signal as signal5, useEffect as useEffect6, useLayoutEffect as useLayoutEffect4, useMemo as useMemo5, useRef as useRef5, useState as useState12 } from "./libraries-c0a40985b0.js";
import { Fragment as Fragment13, jsx as jsx16, jsxs as jsxs15 } from "./libraries-c0a40985b0.js";
var ARMED_AFTER = 400;
var later = signal5(/* @__PURE__ */ new Set());
var keyOf = (talk, question) => `${talk.id}/${talk.epoch}/${question.number}`;
function Questions({ talk }) {
  talk.version.value;
  const waiting = [...talk.conversation.questions.values()];
  const canAnswer = may("approve") && talk.role.value === "controller";
  const question = waiting.find((one) => !later.value.has(keyOf(talk, one)));
  if (question === void 0 || !canAnswer) return null;
  const putAside = () => {
    later.value = /* @__PURE__ */ new Set([...later.value, keyOf(talk, question)]);
  };
  const props = { talk, question, putAside, more: waiting.length - 1 };
  if (question.method === "session/request_permission") return jsx16(Permission, { ...props }, question.number);
  if (question.method === "elicitation/create" && question.params.mode === "url") return jsx16(PageToOpen, { ...props }, question.number);
  if (question.method === "elicitation/create") return jsx16(Form, { ...props }, question.number);
  return null;
}
function takeUp(talk) {
  later.value = new Set([...later.value].filter((key) => !key.startsWith(`${talk.id}/`)));
}
function useArmed() {
  const [armed, setArmed] = useState12(false);
  useEffect6(() => {
    const timer = setTimeout(() => setArmed(true), ARMED_AFTER);
    return () => clearTimeout(timer);
  }, []);
  return armed;
}
var TITLES = {
  edit: "Edit",
  delete: "Delete",
  move: "Move",
  execute: "Run a command",
  fetch: "Fetch a page",
  read: "Read",
  search: "Search"
};
var MEANINGS = {
  allow_once: "this time only",
  allow_always: "from now on, without asking",
  reject_once: "the agent goes on without it",
  reject_always: "from now on, without asking"
};
function Permission({ talk, question, putAside, more }) {
  const armed = useArmed();
  const box = useRef5(null);
  const [raw, setRaw] = useState12(false);
  const asked = asObj(question.params.toolCall);
  const call = talk.conversation.calls.get(asText(asked.toolCallId));
  const options = asList(question.params.options).filter(isObj);
  const cwd = entries.value.get(talk.id)?.cwd ?? "";
  const rejects = options.find((one) => one.kind === "reject_once") ?? options.find((one) => one.kind === "reject_always");
  useLayoutEffect4(() => {
    const start = box.current?.querySelector("[data-reject]") ?? box.current?.querySelector("button");
    start?.focus();
  }, []);
  const choose2 = (option) => {
    if (armed) void answer(talk, question.number, { outcome: { outcome: "selected", optionId: option.optionId ?? "" } });
  };
  const onKey = (event) => {
    const option = /^[1-9]$/.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey ? options[Number(event.key) - 1] : void 0;
    if (option !== void 0) {
      event.preventDefault();
      choose2(option);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const buttons = [...box.current?.querySelectorAll(".answer") ?? []];
      const at = buttons.indexOf(document.activeElement);
      buttons[(at + (event.key === "ArrowDown" ? 1 : -1) + buttons.length) % buttons.length]?.focus();
    }
  };
  return jsx16(Modal, { label: titleOf2(call, cwd), class: "question", onClose: () => rejects !== void 0 ? choose2(rejects) : putAside(), children: jsxs15("div", { ref: box, onKeyDown: onKey, "data-question": question.number, children: [
    jsx16(Head, { icon: kindIcon(call?.tool ?? "other"), title: titleOf2(call, cwd), question, badge: call?.tool ?? "" }),
    jsxs15("div", { class: "dialog-body", children: [
      call !== void 0 && jsx16(What, { call, cwd }),
      raw && jsx16(Raw, { name: "request", value: question.params }),
      jsx16("div", { class: "answers", children: options.map((option, index) => {
        const kind = asText(option.kind);
        const allows = kind.startsWith("allow");
        return jsxs15("button", { type: "button", class: "answer", "data-kind": kind, "data-reject": option === rejects ? "" : void 0, "aria-disabled": !armed, onClick: () => choose2(option), children: [
          index < 9 ? jsx16("kbd", { children: index + 1 }) : jsx16("span", {}),
          jsx16(Icon, { name: allows ? "check" : kind.startsWith("reject") ? "cross" : "right", class: allows ? "yes" : "no" }),
          jsx16("b", { children: jsx16(Visible, { text: asText(option.name) || kind }) }),
          jsx16("span", { children: MEANINGS[kind] ?? plain(kind) })
        ] }, index);
      }) })
    ] }),
    jsxs15(Foot, { talk, children: [
      more > 0 && jsxs15("span", { class: "dim", children: [
        more,
        " more ",
        more === 1 ? "question" : "questions"
      ] }),
      jsx16("button", { type: "button", class: "btn quiet", onClick: putAside, children: "Later" }),
      jsx16("button", { type: "button", class: "btn quiet", "aria-expanded": raw, onClick: () => setRaw(!raw), children: "Raw data" }),
      rejects !== void 0 && jsxs15("span", { class: "only-wide esc", children: [
        jsx16("kbd", { children: "Esc" }),
        " reject"
      ] })
    ] })
  ] }) });
}
function titleOf2(call, cwd) {
  if (call === void 0) return "The agent asks for permission";
  const path = shortPath(asText(diffsOf(call)[0]?.path) || asText(call.locations[0]?.path), cwd);
  const word = TITLES[call.tool];
  if (call.tool === "execute" && wholeCommand(call.rawInput).command !== "") return "Run a command?";
  if (word !== void 0 && path !== "" && call.tool !== "execute") return `${word} ${plain(path)}?`;
  return plain(call.title) === "" ? "Do this?" : `${plain(call.title).replace(/\?$/, "")}?`;
}
function What({ call, cwd }) {
  const diffs = diffsOf(call);
  const { command, beside } = wholeCommand(call.rawInput);
  const others = call.content.filter((one) => one.type === "content");
  const { cwd: given, ...fields } = beside;
  const place = asText(given) || cwd;
  const rest = diffs.length > 0 && call.tool === "edit" ? {} : command !== "" && typeof given === "string" ? fields : beside;
  const everything = [call.title, command, ...diffs.flatMap((diff) => [asText(diff.path), asText(diff.oldText), asText(diff.newText)]), ...call.locations.map((one) => asText(one.path)), ...others.map((one) => asText(asObj(one.content).text)), ...Object.values(rest).map(wordsOf)].join("\n");
  const hidden = useMemo5(() => countHidden(everything), [everything]);
  const paths = [.../* @__PURE__ */ new Set([...diffs.map((diff) => asText(diff.path)), ...call.locations.map((one) => asText(one.path))])].filter((path) => path !== "");
  const outside = cwd !== "" && paths.some((path) => path.startsWith("/") && path !== cwd && !path.startsWith(cwd.endsWith("/") ? cwd : `${cwd}/`));
  return jsxs15(Fragment13, { children: [
    jsxs15("div", { class: "what", children: [
      diffs.map((diff, index) => jsx16(Diff, { path: asText(diff.path), before: asText(diff.oldText), after: asText(diff.newText), sides: false, whole: true }, index)),
      command !== "" && jsx16("pre", { tabIndex: 0, children: jsx16(Visible, { text: command }) }),
      command === "" && diffs.length === 0 && jsx16("p", { class: "what-title", children: jsx16(Visible, { text: call.title }) }),
      others.map((one, index) => {
        const content = asObj(one.content);
        return content.type === "text" ? jsx16("pre", { class: "what-text", children: jsx16(Visible, { text: asText(content.text) }) }, index) : jsx16(ContentBlock, { block: { type: asText(content.type), raw: content } }, index);
      }),
      jsxs15("dl", { class: "facts", children: [
        Object.entries(rest).map(([name2, value]) => jsx16(Fact, { name: plain(name2), children: jsx16(Visible, { text: wordsOf(value) }) }, name2)),
        paths.map((path, index) => jsx16(Fact, { name: index === 0 ? "File" : "", children: jsx16(Visible, { text: path }) }, `at ${path}`)),
        command !== "" && place !== "" && jsx16(Fact, { name: "In", children: jsx16(Visible, { text: place }) }),
        diffs.map((diff, index) => {
          const [added, removed] = count(diff);
          return jsxs15(Fact, { name: "Change", words: true, children: [
            jsx16(PlusMinus, { added, removed }),
            outside ? ", outside the working directory" : ", inside the working directory"
          ] }, index);
        })
      ] })
    ] }),
    hidden > 0 && jsxs15("p", { class: "note warn", children: [
      jsx16(Icon, { name: "alert", size: 14 }),
      jsxs15("span", { children: [
        jsx16("b", { children: hidden === 1 ? "One character, or gap, is invisible." : `${hidden} characters, or gaps, are invisible.` }),
        " A character is shown by its number, such as U+200B; a gap by its length."
      ] })
    ] })
  ] });
}
var wordsOf = (value) => typeof value === "string" ? value : JSON.stringify(value ?? null);
var Fact = ({ name: name2, words = false, children }) => jsxs15(Fragment13, { children: [
  jsx16("dt", { children: name2 }),
  jsx16("dd", { class: words ? void 0 : "mono", children })
] });
function Head({ icon, title, question, badge, plainTile = false }) {
  const now2 = useNow(1e3);
  const agent = connection.welcome.value?.agent ?? "the agent";
  const waited = now2 - question.at;
  return jsxs15("header", { class: "dialog-head", children: [
    jsx16("span", { class: `tile${plainTile ? " plain" : ""}`, children: jsx16(Icon, { name: icon, size: 20 }) }),
    jsxs15("div", { children: [
      jsx16("h2", { children: title }),
      jsxs15("p", { children: [
        plain(agent),
        " asks",
        waited > 3e3 ? ` · ${duration(waited).replace(/\.\d/, "")} ago` : ""
      ] })
    ] }),
    badge !== "" && jsx16("span", { class: "badge", children: plain(badge) })
  ] });
}
function Foot({ talk, children }) {
  const me = connection.welcome.value?.user;
  const others = talk.people.value.filter((one) => one.approves && one.name !== me);
  return jsxs15("footer", { class: "dialog-foot", children: [
    others.length > 0 && jsxs15(Fragment13, { children: [
      jsx16(Avatar, { name: others[0].name }),
      jsxs15("span", { children: [
        plain(others.map((one) => one.name).join(", ")),
        " may answer too. The first answer counts."
      ] })
    ] }),
    jsx16("span", { class: "grow" }),
    children
  ] });
}
function Form({ talk, question, putAside }) {
  const armed = useArmed();
  const schema = asObj(question.params.requestedSchema);
  const fields = Object.entries(asObj(schema.properties)).map(([name2, field]) => ({ name: name2, field: asObj(field) }));
  const required = asList(schema.required).map(String);
  const [values, setValues] = useState12(() => Object.fromEntries(fields.map(({ name: name2, field }) => [name2, initial(field)])));
  const latest = useRef5(values);
  const touched = useRef5(false);
  const set = (name2, value) => {
    touched.current = true;
    latest.current = { ...latest.current, [name2]: value };
    setValues(latest.current);
  };
  const [shown, setShown] = useState12(false);
  const form = useRef5(null);
  useLayoutEffect4(() => form.current?.querySelector("input, select, textarea")?.focus(), []);
  const faultOf = ({ name: name2, field }, all) => fault(field, all[name2] ?? "", required.includes(name2));
  const reply = (result) => {
    if (armed || touched.current) void answer(talk, question.number, result);
  };
  const submit = (event) => {
    event.preventDefault();
    setShown(true);
    const wrong = fields.find((one) => faultOf(one, latest.current) !== "");
    if (wrong !== void 0) form.current?.querySelector(`[name="${CSS.escape(wrong.name)}"]`)?.focus();
    else reply({ action: "accept", content: contentOf(fields, latest.current) });
  };
  return jsx16(Modal, { label: plain(asText(question.params.message)) || "The agent asks", class: "question", onClose: putAside, children: jsxs15("form", { ref: form, onSubmit: submit, noValidate: true, "data-question": question.number, children: [
    jsx16(Head, { icon: "plan", plainTile: true, title: plain(asText(question.params.message)) || "The agent asks", question, badge: "" }),
    jsx16("div", { class: "dialog-body", children: jsxs15("div", { class: "form", children: [
      asText(schema.description) !== "" && jsx16("p", { class: "dim", children: jsx16(Visible, { text: asText(schema.description) }) }),
      fields.map(({ name: name2, field }) => jsx16(Field, { name: name2, field, value: values[name2] ?? "", optional: !required.includes(name2), fault: shown ? faultOf({ name: name2, field }, values) : "", set: (value) => set(name2, value) }, name2))
    ] }) }),
    jsxs15("footer", { class: "dialog-foot", children: [
      jsx16("span", { class: "grow", children: "Answers go to the agent, and into the conversation." }),
      jsx16("button", { type: "button", class: "btn quiet", onClick: () => reply({ action: "decline" }), children: "Decline" }),
      jsx16("button", { type: "submit", class: "btn primary", children: "Send" })
    ] })
  ] }) });
}
function initial(field) {
  if (field.type === "boolean") return field.default === true;
  if (field.type === "array") return asList(field.default).map(String);
  return field.default === void 0 || field.default === null ? "" : String(field.default);
}
function optionsOf(field) {
  const items = field.type === "array" ? asObj(field.items) : field;
  const titled = asList(items.oneOf ?? items.anyOf).filter(isObj);
  if (titled.length > 0) return titled.map((one) => ({ value: asText(one.const), title: asText(one.title) || asText(one.const) }));
  return asList(items.enum).map((one) => ({ value: String(one), title: String(one) }));
}
function fault(field, value, required) {
  if (Array.isArray(value)) {
    if (typeof field.minItems === "number" && value.length < field.minItems) return `Choose at least ${field.minItems}`;
    if (typeof field.maxItems === "number" && value.length > field.maxItems) return `Choose at most ${field.maxItems}`;
    return required && value.length === 0 ? "Choose at least one" : "";
  }
  if (typeof value === "boolean") return "";
  if (value === "") return required ? "This is needed" : "";
  if (field.type === "integer" || field.type === "number") {
    const number = Number(value);
    if (!Number.isFinite(number) || field.type === "integer" && !Number.isInteger(number)) return field.type === "integer" ? "A whole number" : "A number";
    if (typeof field.minimum === "number" && number < field.minimum) return `At least ${field.minimum}`;
    if (typeof field.maximum === "number" && number > field.maximum) return `At most ${field.maximum}`;
    return "";
  }
  if (typeof field.minLength === "number" && value.length < field.minLength) return `At least ${field.minLength} characters`;
  if (typeof field.maxLength === "number" && value.length > field.maxLength) return `At most ${field.maxLength} characters`;
  if (typeof field.pattern === "string") {
    try {
      if (!new RegExp(field.pattern, "u").test(value)) return asText(field.description) || `It must match ${field.pattern}`;
    } catch {
      return "";
    }
  }
  if (field.format === "email" && !/^\S+@\S+$/.test(value)) return "An e-mail address";
  if (field.format === "uri" && !URL.canParse(value)) return "A whole address, such as https://example.org";
  return "";
}
function contentOf(fields, values) {
  const content = {};
  for (const { name: name2, field } of fields) {
    const value = values[name2] ?? "";
    if (value === "" || Array.isArray(value) && value.length === 0) continue;
    content[name2] = field.type === "integer" || field.type === "number" ? Number(value) : value;
  }
  return content;
}
function Field({ name: name2, field, value, optional, fault: wrong, set }) {
  const id = `f-${name2}`;
  const title = jsxs15(Fragment13, { children: [
    jsx16(Visible, { text: asText(field.title) || name2 }),
    optional && field.type !== "boolean" && jsx16("span", { class: "dim", children: " optional" })
  ] });
  const options = optionsOf(field);
  const hint = wrong !== "" ? jsx16("p", { class: "hint bad", id: `${id}-hint`, children: wrong }) : asText(field.description) !== "" ? jsx16("p", { class: "hint", id: `${id}-hint`, children: jsx16(Visible, { text: asText(field.description) }) }) : null;
  if (field.type === "boolean") {
    return jsxs15("div", { children: [
      jsxs15("label", { class: "pick", children: [
        jsx16("input", { type: "checkbox", name: name2, checked: value === true, onChange: (event) => set(event.currentTarget.checked) }),
        jsx16("span", { children: title })
      ] }),
      hint
    ] });
  }
  if (options.length > 0 && (field.type === "array" || options.length <= 6)) {
    const many = field.type === "array";
    const chosen = Array.isArray(value) ? value : [String(value)];
    return jsxs15("fieldset", { children: [
      jsx16("legend", { children: title }),
      options.map((option) => jsxs15("label", { class: "pick", children: [
        jsx16("input", { type: many ? "checkbox" : "radio", name: name2, checked: chosen.includes(option.value), onChange: (event) => set(many ? event.currentTarget.checked ? [...chosen, option.value] : chosen.filter((one) => one !== option.value) : option.value) }),
        jsx16("span", { children: jsx16(Visible, { text: option.title }) })
      ] }, option.value)),
      hint
    ] });
  }
  return jsxs15("div", { children: [
    jsx16("label", { for: id, children: title }),
    options.length > 0 ? jsxs15("select", { id, name: name2, class: "field", value: String(value), onChange: (event) => set(event.currentTarget.value), children: [
      jsx16("option", { value: "" }),
      options.map((option) => jsx16("option", { value: option.value, children: option.title }, option.value))
    ] }) : jsx16(
      "input",
      {
        id,
        name: name2,
        class: `field${wrong !== "" ? " bad" : ""}`,
        value: String(value),
        inputMode: field.type === "integer" ? "numeric" : field.type === "number" ? "decimal" : "text",
        type: "text",
        placeholder: field.format === "date" ? "2030-12-31" : void 0,
        autoComplete: "off",
        "aria-invalid": wrong !== "",
        "aria-describedby": hint === null ? void 0 : `${id}-hint`,
        onInput: (event) => set(event.currentTarget.value)
      }
    ),
    hint
  ] });
}
function PageToOpen({ talk, question, putAside }) {
  const armed = useArmed();
  const url = asText(question.params.url);
  const link = linkOf(url, "");
  const reply = (action) => {
    if (armed) void answer(talk, question.number, { action });
  };
  const at = link === null ? -1 : url.indexOf(link.host);
  return jsx16(Modal, { label: "The agent wants you to open a page", class: "question", onClose: putAside, children: jsxs15("div", { "data-question": question.number, children: [
    jsx16(Head, { icon: "out", plainTile: true, title: plain(asText(question.params.message)) || "Open a page?", question, badge: "" }),
    jsxs15("div", { class: "dialog-body", children: [
      jsx16("p", { children: "Nothing is opened until you do." }),
      jsx16("span", { class: "url", children: link === null || at < 0 ? jsx16(Visible, { text: url }) : jsxs15(Fragment13, { children: [
        jsx16(Visible, { text: url.slice(0, at) }),
        jsx16("b", { children: link.host }),
        jsx16(Visible, { text: url.slice(at + link.host.length) })
      ] }) }),
      link === null && jsxs15("p", { class: "note warn", children: [
        jsx16(Icon, { name: "alert", size: 14 }),
        jsx16("span", { children: "This is not an address that a browser may open from here." })
      ] })
    ] }),
    jsxs15("footer", { class: "dialog-foot", children: [
      jsx16("span", { class: "grow" }),
      jsx16("button", { type: "button", class: "btn quiet", onClick: () => reply("decline"), children: "Decline" }),
      jsxs15("button", { type: "button", class: "btn", onClick: () => void navigator.clipboard.writeText(url), children: [
        jsx16(Icon, { name: "copy", size: 14 }),
        "Copy"
      ] }),
      link !== null && jsxs15("a", { class: "btn primary", href: link.href, target: "_blank", rel: "noopener noreferrer", onClick: () => reply("accept"), children: [
        jsx16(Icon, { name: "out", size: 14 }),
        "Open ",
        link.host
      ] })
    ] })
  ] }) });
}

// src/view/start.tsx
import { useState as useState13 } from "./libraries-c0a40985b0.js";
import { Fragment as Fragment14, jsx as jsx17, jsxs as jsxs16 } from "./libraries-c0a40985b0.js";
function Login({ why }) {
  const [token, setToken] = useState13("");
  return jsx17("main", { class: "login", children: jsxs16(
    "form",
    {
      class: "login-box",
      onSubmit: (event) => {
        event.preventDefault();
        if (token.trim() !== "") connection.logIn(token);
      },
      children: [
        jsxs16("span", { class: "brand", children: [
          jsx17(Icon, { name: "logo", size: 22 }),
          "acpella"
        ] }),
        jsx17("h1", { children: "Log in" }),
        why !== "" && jsxs16("p", { class: "note warn", role: "alert", children: [
          jsx17(Icon, { name: "alert", size: 14 }),
          jsx17("span", { children: plain(why) })
        ] }),
        jsx17("label", { for: "token", children: "Your token for this server" }),
        jsx17("input", { id: "token", class: "field mono", type: "password", autoComplete: "current-password", value: token, onInput: (event) => setToken(event.currentTarget.value) }),
        jsx17("button", { type: "submit", class: "btn primary", children: "Log in" }),
        jsxs16("p", { class: "hint", children: [
          "On your own machine, ",
          jsx17("code", { children: "acpella web" }),
          " opens this page with a link that works once. On a team's server, whoever runs it makes tokens with ",
          jsx17("code", { children: "acpella tokens add" }),
          ". The token stays in this tab."
        ] })
      ]
    }
  ) });
}
var TRIES = ["read README.md", "search for TODO", "run ls -la", "plan: look, think, act"];
function Start({ talk }) {
  const welcome = connection.welcome.value;
  if (welcome === null) return jsx17("div", { class: "log", children: jsx17("div", { class: "hello", children: jsx17("p", { class: "dim", children: "Connecting" }) }) });
  const info = welcome.agentInfo;
  const folder = welcome.cwd.split("/").at(-1) || welcome.cwd || "this directory";
  const isBuiltIn = asText(info.name) === "coder" || welcome.agent === "coder";
  const capabilities = welcome.agentCapabilities;
  const offers = [
    asObj(capabilities.promptCapabilities).image === true && "pictures",
    asObj(capabilities.promptCapabilities).audio === true && "sound",
    capabilities.loadSession === true && "sessions that can be opened again",
    asObj(capabilities.sessionCapabilities).fork !== void 0 && "forks"
  ].filter((one) => one !== false);
  return jsx17("div", { class: "log", children: jsxs16("div", { class: "hello", children: [
    jsx17("h1", { children: talk === null ? `Start a session in ${plain(folder)}` : "What should be done?" }),
    jsxs16("p", { children: [
      plain(welcome.agent),
      " works in ",
      jsx17("span", { class: "mono", children: plain(homely(welcome.cwd)) }),
      ". Its mode says what it may do without asking."
    ] }),
    jsxs16("div", { class: "hello-cols", children: [
      jsxs16("div", { children: [
        jsx17("div", { class: "agents", children: jsxs16("div", { class: "agent", children: [
          jsx17("span", { class: "tile accent", children: jsx17(Icon, { name: isBuiltIn ? "logo" : "execute", size: 20 }) }),
          jsxs16("span", { children: [
            jsx17("b", { children: plain(asText(info.title) || welcome.agent) }),
            jsx17("small", { children: [asText(info.version) && `Version ${plain(asText(info.version))}.`, offers.length > 0 && `Takes ${offers.join(", ")}.`].filter(Boolean).join(" ") || "Ready." })
          ] }),
          jsx17("span", { class: "badge add", children: "ready" })
        ] }) }),
        isBuiltIn && may("prompt") && jsxs16(Fragment14, { children: [
          jsx17("h2", { class: "gap-t", children: "Try it now, without a key" }),
          jsx17("div", { class: "try", children: TRIES.map((one) => jsx17("button", { type: "button", class: "btn", onClick: () => void prompt([{ type: "text", text: one }]), children: one }, one)) })
        ] }),
        jsx17(Recent, {})
      ] }),
      isBuiltIn && jsx17(Models, {})
    ] }),
    !may("prompt") && jsxs16("p", { class: "note", children: [
      jsx17(Icon, { name: "eye", size: 14 }),
      jsx17("span", { children: "Your token lets you watch. Choose a session in the list." })
    ] })
  ] }) });
}
function Recent() {
  const recent = sorted(entries.value.values()).slice(0, 4);
  if (recent.length === 0) return null;
  return jsxs16(Fragment14, { children: [
    jsx17("h2", { class: "gap-t", children: "Go on with" }),
    jsx17("div", { class: "agents recent", children: recent.map((entry) => jsxs16("button", { type: "button", class: "session", onClick: () => void open(entry.sessionId), children: [
      jsx17(StateGlyph, { state: entry.state }),
      jsx17("b", { children: titleOf(entry) }),
      jsx17("time", { children: timeOf(entry) === 0 ? "" : ago(timeOf(entry), now()) })
    ] }, entry.sessionId)) })
  ] });
}
var KEYS2 = [["Anthropic", "ANTHROPIC_API_KEY"], ["OpenAI", "OPENAI_API_KEY"], ["Google", "GEMINI_API_KEY"], ["OpenRouter", "OPENROUTER_API_KEY"]];
var LOCAL = "ACPELLA_MODEL=ollama:qwen3 acpella web";
function Models() {
  return jsxs16("div", { class: "models-box", children: [
    jsx17("h2", { children: "Connect a real model" }),
    jsx17("p", { class: "dim", children: "The agent takes its key from the environment when acpella starts. Keys are never asked for here, and never stored." }),
    jsx17("table", { class: "models", children: jsx17("tbody", { children: KEYS2.map(([name2, variable]) => jsxs16("tr", { children: [
      jsx17("td", { children: name2 }),
      jsx17("td", { children: jsx17("code", { children: variable }) })
    ] }, name2)) }) }),
    jsxs16("div", { class: "code", children: [
      jsxs16("div", { class: "code-head", children: [
        jsx17("span", { children: "or a model on this machine" }),
        jsx17("span", { class: "grow" }),
        jsx17(CopyButton, { text: () => LOCAL })
      ] }),
      jsx17("pre", { children: LOCAL })
    ] })
  ] });
}

// src/view/thread.tsx
import { Component as Component3, useEffect as useEffect7, useLayoutEffect as useLayoutEffect5, useRef as useRef6, useState as useState14 } from "./libraries-c0a40985b0.js";
import { jsx as jsx18, jsxs as jsxs17 } from "./libraries-c0a40985b0.js";
var TURNS_SHOWN = 50;
var FOLDED = ["read", "search"];
function grouped(items) {
  const shown = [];
  for (const item of items) {
    const isFolded = item.kind === "tool" && FOLDED.includes(item.tool) && item.question === null && item.status === "completed";
    const last = shown.at(-1);
    if (isFolded && last?.kind === "group") {
      last.calls.push(item);
      last.version += item.version + 1;
    } else if (isFolded && last?.kind === "tool" && FOLDED.includes(last.tool) && last.status === "completed" && last.question === null) {
      shown[shown.length - 1] = { kind: "group", key: `g${last.key}`, calls: [last, item], version: last.version + item.version, at: last.at };
    } else shown.push(item);
  }
  return shown;
}
function Thread({ talk, onReview }) {
  talk.version.value;
  const conversation = talk.conversation;
  const log = useRef6(null);
  const [turns, setTurns] = useState14(TURNS_SHOWN);
  const [below, setBelow] = useState14(false);
  const stuck = useRef6(true);
  const seen = useRef6(0);
  const moved = useRef6(0);
  const cwd = entries.value.get(talk.id)?.cwd ?? connection.welcome.value?.cwd ?? "";
  const atEnd = () => {
    const box = log.current;
    return box.scrollHeight - box.scrollTop - box.clientHeight < 48;
  };
  const noteMove = (event) => {
    moved.current = event.timeStamp;
  };
  const toEnd = () => {
    const box = log.current;
    box.scrollTop = box.scrollHeight;
    stuck.current = true;
    setBelow(false);
  };
  useLayoutEffect5(() => {
    stuck.current = true;
    toEnd();
  }, [talk]);
  useLayoutEffect5(() => {
    if (stuck.current) {
      const box = log.current;
      box.scrollTop = box.scrollHeight;
      seen.current = conversation.items.length;
    } else if (!below && conversation.items.length > seen.current) setBelow(true);
  });
  useEffect7(() => {
    const watch2 = new ResizeObserver(() => {
      if (stuck.current && log.current !== null) log.current.scrollTop = log.current.scrollHeight;
    });
    watch2.observe(log.current.firstElementChild);
    return () => watch2.disconnect();
  }, [talk]);
  const starts = conversation.items.flatMap((item, index) => item.kind === "prompt" ? [index] : []);
  const first = starts.length > turns ? starts[starts.length - turns] : 0;
  const shown = grouped(conversation.items.slice(first));
  let date = "";
  return jsxs17("div", { class: "log-box", children: [
    jsx18(
      "div",
      {
        class: "log",
        role: "log",
        "aria-label": "Conversation",
        "aria-busy": conversation.turn !== null,
        tabIndex: 0,
        ref: log,
        onWheel: noteMove,
        onTouchMove: noteMove,
        onKeyDown: noteMove,
        onPointerDown: noteMove,
        onScroll: (event) => {
          if (atEnd()) {
            stuck.current = true;
            setBelow(false);
          } else if (event.timeStamp - moved.current < 1e3) stuck.current = false;
        },
        children: jsxs17("div", { class: "thread", children: [
          first > 0 && jsx18("button", { type: "button", class: "btn earlier", onClick: () => setTurns(turns + TURNS_SHOWN), children: `Earlier: ${starts.length - turns} more turns` }),
          talk.loading.value && conversation.items.length === 0 && jsxs17("p", { class: "dim loading", children: [
            jsx18(StateGlyph, { state: "running" }),
            " Loading the session"
          ] }),
          talk.failure.value !== "" && jsxs17("article", { class: "note-card err", children: [
            jsxs17("header", { children: [
              jsx18(Icon, { name: "alert" }),
              jsx18("span", { children: "This session cannot be opened" })
            ] }),
            jsx18("p", { children: plain(talk.failure.value) }),
            jsx18("footer", { children: jsx18("button", { type: "button", class: "btn", onClick: () => void open(talk.id), children: "Try again" }) })
          ] }),
          shown.map((item) => {
            const today = day(item.at);
            const separator = item.kind === "prompt" && today !== date ? jsx18("div", { class: "day", children: date = today }, `d${item.key}`) : null;
            return [separator, jsx18(Entry, { item, version: item.version, conversation, cwd, onReview }, item.key)];
          }),
          conversation.turn !== null && jsx18(Working, { conversation })
        ] })
      }
    ),
    below && jsxs17("button", { type: "button", class: "btn pill-new", onClick: toEnd, children: [
      jsx18(Icon, { name: "down", size: 12 }),
      "New below"
    ] })
  ] });
}
function Working({ conversation }) {
  const now2 = useNow(1e3);
  const last = conversation.items.at(-1);
  const speaks = last !== void 0 && last.kind === "text" && now2 - last.until < 1500;
  const since = conversation.turn?.since ?? now2;
  if (conversation.questions.size > 0) return jsxs17("p", { class: "working", children: [
    jsx18(StateGlyph, { state: "waiting" }),
    jsx18("span", { children: "Waits for an answer" })
  ] });
  return jsxs17("p", { class: "working", children: [
    jsx18(StateGlyph, { state: "running" }),
    jsx18("span", { children: speaks ? "Writing" : "Working" }),
    jsxs17("span", { class: "num", children: [
      Math.max(0, Math.round((now2 - since) / 1e3)),
      " s"
    ] })
  ] });
}
var Entry = class extends Component3 {
  shouldComponentUpdate(next) {
    return next.version !== this.props.version || next.item.kind !== this.props.item.kind || next.item.kind === "group" && next.item !== this.props.item || next.cwd !== this.props.cwd || next.conversation !== this.props.conversation;
  }
  render({ item, conversation, cwd, onReview }) {
    switch (item.kind) {
      case "prompt":
        return jsx18(PromptEntry, { item });
      case "text":
        return jsx18("div", { class: "prose says", children: jsx18(Markdown, { text: item.text, done: item.done }) });
      case "thought":
        return jsx18(Thought, { item });
      case "media":
        return jsx18(ContentBlock, { block: item.block });
      case "tool":
        return jsx18(ToolCard, { call: item, version: item.version, cwd, terminals: conversation.terminals });
      case "group":
        return jsx18(GroupEntry, { group: item, conversation, cwd });
      case "end":
        return jsx18(EndEntry, { item, conversation, onReview });
      case "error":
        return jsxs17("article", { class: "note-card err", children: [
          jsxs17("header", { children: [
            jsx18(Icon, { name: "cross" }),
            jsx18("span", { children: "The prompt failed" }),
            jsx18("span", { class: "grow" }),
            jsx18("span", { class: "badge err", children: item.code })
          ] }),
          jsx18("p", { children: plain(item.message) }),
          item.data !== null && jsx18(Raw, { value: item.data })
        ] });
      case "gone":
        return jsxs17("article", { class: "note-card err", children: [
          jsxs17("header", { children: [
            jsx18(Icon, { name: "alert" }),
            jsxs17("span", { children: [
              "The agent stopped: ",
              plain(item.reason)
            ] })
          ] }),
          jsx18("p", { children: "The conversation is kept. The next prompt starts the agent again, in the same session." }),
          item.stderr !== "" && jsxs17("details", { class: "fold inset", children: [
            jsxs17("summary", { children: [
              jsx18(Icon, { name: "chevron", size: 12, class: "chev" }),
              "Its last lines"
            ] }),
            jsx18("pre", { class: "raw", children: item.stderr })
          ] })
        ] });
      case "unknown":
        return jsxs17("article", { class: "note-card unknown", children: [
          jsxs17("header", { children: [
            jsx18(Icon, { name: "code" }),
            jsx18("span", { class: "mono", children: plain(item.name) }),
            jsx18("span", { class: "grow" }),
            jsx18("span", { class: "badge line", children: "not known to v1" })
          ] }),
          jsx18(Raw, { value: item.raw })
        ] });
      case "notice":
        return jsxs17("p", { class: `note${item.severity === "info" ? "" : " warn"}`, children: [
          jsx18(Icon, { name: "alert", size: 14 }),
          jsxs17("span", { children: [
            jsx18("b", { children: plain(item.title) }),
            " ",
            plain(item.text)
          ] })
        ] });
      case "note":
        return jsx18("p", { class: "dim note-line", children: plain(item.text) });
    }
  }
};
function PromptEntry({ item }) {
  const name2 = plain(item.by) || "You";
  const text = item.blocks.filter((block3) => block3.type === "text");
  const others = item.blocks.filter((block3) => block3.type !== "text");
  return jsxs17("article", { class: "ask-msg", children: [
    jsxs17("div", { class: "by", children: [
      jsx18(Avatar, { name: name2 }),
      jsx18("b", { children: name2 }),
      jsx18("time", { dateTime: new Date(item.at).toISOString(), children: clock(item.at) })
    ] }),
    text.map((block3, index) => jsx18("div", { class: "prose said", children: jsx18(Mentions, { text: asText(block3.raw.text) }) }, index)),
    others.length > 0 && jsx18("div", { class: "attach", children: others.map((block3, index) => jsx18(ContentBlock, { block: block3 }, index)) })
  ] });
}
function Mentions({ text }) {
  const pieces2 = text.split(/((?:^|(?<=\s))@[^\s,;:!?)]+)/);
  return jsx18("p", { children: pieces2.map((piece, index) => piece.startsWith("@") && piece.length > 1 ? jsx18("span", { class: "mention", children: plain(piece) }, index) : piece) });
}
function Thought({ item }) {
  const [open2, setOpen] = useState14(false);
  const now2 = useNow(500, !item.done);
  const took = duration((item.done ? item.until : now2) - item.at);
  return jsxs17("details", { class: "fold thought", open: open2, onToggle: (event) => setOpen(event.currentTarget.open), children: [
    jsxs17("summary", { children: [
      jsx18(Icon, { name: "chevron", size: 12, class: "chev" }),
      jsx18("span", { children: item.done ? `Thought for ${took}` : `Thinking for ${took}` })
    ] }),
    open2 && jsx18("div", { class: "thought-text prose", children: jsx18(Markdown, { text: item.text, done: item.done }) })
  ] });
}
function GroupEntry({ group, conversation, cwd }) {
  const [open2, setOpen] = useState14(false);
  const reads = group.calls.filter((call) => call.tool === "read");
  const searches = group.calls.length - reads.length;
  const names = [...new Set(reads.map((call) => shortPath(asText(call.locations[0]?.path), cwd).split("/").at(-1) ?? ""))].filter((name2) => name2 !== "");
  const files = names.length || reads.length;
  const words = [reads.length > 0 ? `Read ${files} ${files === 1 ? "file" : "files"}` : "", searches > 0 ? `${reads.length > 0 ? "searched" : "Searched"} ${searches === 1 ? "once" : `${searches} times`}` : ""].filter((one) => one !== "");
  const took = Math.max(...group.calls.map((call) => call.until)) - group.at;
  return jsxs17("details", { class: "fold", open: open2, onToggle: (event) => setOpen(event.currentTarget.open), children: [
    jsxs17("summary", { children: [
      jsx18(Icon, { name: "chevron", size: 12, class: "chev" }),
      jsxs17("span", { class: "cut", children: [
        words.join(", "),
        " ",
        jsx18("span", { class: "mono", children: plain(names.join(", ")) })
      ] }),
      jsx18("span", { class: "tool-end num", children: duration(took) })
    ] }),
    open2 && jsx18("div", { class: "group-list", children: group.calls.map((call) => jsx18(ToolCard, { call, version: call.version, cwd, terminals: conversation.terminals, compact: true }, call.key)) })
  ] });
}
var STOPS = { cancelled: "stopped", max_tokens: "the answer was too long", max_turn_requests: "too many steps", refusal: "refused" };
function EndEntry({ item, conversation, onReview }) {
  const index = conversation.items.indexOf(item);
  let start = index;
  while (start > 0 && conversation.items[start].kind !== "prompt") start--;
  const turn = conversation.items.slice(start, index);
  const changes = changesOf(turn);
  const tokens = asNumber(item.usage.totalTokens);
  return jsxs17("footer", { class: "turn-end", children: [
    item.stop !== "end_turn" && jsx18("span", { class: "badge warn", children: STOPS[item.stop] ?? plain(item.stop) }),
    jsx18("span", { class: "num", children: duration(item.ms) }),
    item.calls > 0 && jsxs17("span", { class: "num", children: [
      item.calls,
      " tool ",
      item.calls === 1 ? "call" : "calls"
    ] }),
    tokens !== null && jsxs17("span", { class: "num", children: [
      amount(tokens),
      " tokens"
    ] }),
    jsx18("span", { class: "grow" }),
    changes.length > 0 && jsxs17("button", { type: "button", class: "btn small", onClick: onReview, children: [
      changes.length,
      " ",
      changes.length === 1 ? "file" : "files",
      " ",
      jsx18(PlusMinus, { added: changes.reduce((sum, one) => sum + one.added, 0), removed: changes.reduce((sum, one) => sum + one.removed, 0) })
    ] }),
    jsx18(CopyButton, { text: () => textOf(turn), label: "Copy the answer" })
  ] });
}

// src/view/page.tsx
import { Fragment as Fragment15, jsx as jsx19, jsxs as jsxs18 } from "./libraries-c0a40985b0.js";
function Page() {
  useKeys();
  useNotices();
  const link = connection.link.value;
  if (link.state === "login") return jsx19(Login, { why: link.why });
  const talk = currentTalk.value;
  talk?.version.value;
  const isEmpty = talk === null || talk.conversation.items.length === 0 && !talk.loading.value && talk.failure.value === "";
  const view = panels.view.value;
  return jsxs18(Fragment15, { children: [
    jsxs18("div", { class: `app${isEmpty ? " first" : ""}${panels.right.value && !isEmpty ? "" : " no-panel"}`, "data-view": view, children: [
      jsx19("div", { class: `side-box${panels.side.value ? " open" : ""}`, onClick: (event) => event.target === event.currentTarget && (panels.side.value = false), children: jsx19(Sessions, {}) }),
      jsxs18("main", { class: "main", children: [
        jsx19(Head2, { talk, isEmpty }),
        jsx19(LostBanner, {}),
        jsx19(ProblemBanner, {}),
        jsx19(Client, {}),
        view === "chat" || isEmpty ? jsxs18(Fragment15, { children: [
          talk !== null && !isEmpty && jsx19(PlanStrip, { talk }),
          talk !== null && !isEmpty ? jsx19(Thread, { talk, onReview: () => panels.review.value = true }, talk.id) : jsx19(Start, { talk }),
          talk !== null && jsx19(PutAside, { talk }),
          jsx19(Composer, { talk })
        ] }) : jsxs18("div", { class: "log narrow-view", children: [
          view === "plan" && talk !== null && jsxs18(Fragment15, { children: [
            jsx19(PlanSection, { talk }),
            jsx19(UsageSection, { talk }),
            jsx19(PeopleSection, { talk }),
            talk.conversation.plan.length === 0 && jsx19("p", { class: "dim nothing", children: "The agent has no plan." })
          ] }),
          view === "wire" && jsx19(WireSection, { most: 60 })
        ] })
      ] }),
      talk !== null && !isEmpty && panels.right.value && jsx19(Panel, { talk }),
      jsx19(BottomTabs, {})
    ] }),
    talk !== null && jsx19(Questions, { talk }),
    jsx19(Dialogs, {}),
    jsx19(Palette, {})
  ] });
}
function Head2({ talk, isEmpty }) {
  const entry = entries.value.get(current.value ?? "");
  const welcome = connection.welcome.value;
  const me = welcome?.user;
  const cwd = homely(entry?.cwd ?? welcome?.cwd ?? "");
  const people = talk?.people.value ?? [];
  return jsxs18("header", { class: `bar${isEmpty ? " only-narrow" : ""}`, children: [
    jsx19(IconButton, { icon: "menu", class: "only-narrow", label: "Sessions", onClick: () => panels.side.value = true }),
    jsxs18("div", { class: "titles grow", children: [
      jsx19("h1", { class: "cut", children: talk === null || isEmpty ? "acpella" : titleOf(entry) }),
      jsxs18("div", { class: "where cut only-narrow", children: [
        plain(welcome?.agent ?? ""),
        " · ",
        cwd
      ] })
    ] }),
    jsx19("span", { class: "where only-wide", children: plain(welcome?.agent ?? "") }),
    jsx19("span", { class: "where only-wide mono cut", children: cwd }),
    entry?.branch && jsxs18("span", { class: "badge line only-wide branch", title: "The branch of the directory", children: [
      jsx19(Icon, { name: "branch", size: 12 }),
      jsx19("span", { class: "cut", children: plain(entry.branch) })
    ] }),
    people.length > 1 && jsx19("button", { type: "button", class: "people", "aria-label": people.map((one) => `${one.name} ${one.role === "observer" ? "watches" : "controls"}`).join(", "), onClick: () => !panels.right.value && togglePanel(), children: [...people].sort((a, b) => Number(b.name === me) - Number(a.name === me)).slice(0, 4).map((one) => jsx19(Avatar, { name: one.name }, one.name)) }),
    !isEmpty && jsx19(IconButton, { icon: "panel", class: "only-wide", label: "Side panel", pressed: panels.right.value, onClick: togglePanel }),
    !isEmpty && jsxs18("span", { class: "menu-box", children: [
      jsx19(IconButton, { icon: "dots", label: "More", expanded: panels.menu.value, onClick: () => panels.menu.value = !panels.menu.value }),
      panels.menu.value && jsx19(Menu, {})
    ] })
  ] });
}
function Menu() {
  const close = () => {
    panels.menu.value = false;
  };
  const all = sessionActions();
  return jsx19(Modal, { label: "More", class: "menu", onClose: close, children: jsx19("div", { class: "menu-list", children: all.map((one) => jsxs18("button", { type: "button", class: "opt", onClick: () => {
    close();
    one.run();
  }, children: [
    jsx19(Icon, { name: one.icon }),
    jsx19("b", { children: one.title })
  ] }, one.title)) }) });
}
function LostBanner() {
  const link = connection.link.value;
  const now2 = useNow(500, link.state === "lost");
  if (link.state !== "lost") return null;
  const seconds = Math.max(0, Math.ceil((link.again - now2) / 1e3));
  return jsxs18("div", { class: "banner", role: "status", children: [
    jsx19(Icon, { name: "plug", size: 14 }),
    jsx19("b", { children: "Connection lost." }),
    jsxs18("span", { class: "grow cut", children: [
      "The agent goes on without you. ",
      seconds > 0 ? `Trying again in ${seconds} s.` : "Trying again.",
      link.why !== "" && jsxs18("span", { class: "dim", children: [
        " ",
        plain(link.why)
      ] })
    ] }),
    jsx19("button", { type: "button", class: "btn small", onClick: () => connection.retry(), children: "Try now" })
  ] });
}
function ProblemBanner() {
  if (problem.value === "") return null;
  return jsxs18("div", { class: "banner err", role: "alert", children: [
    jsx19(Icon, { name: "alert", size: 14 }),
    jsx19("span", { class: "grow", children: plain(problem.value) }),
    jsx19(IconButton, { icon: "cross", size: 14, label: "Close", onClick: () => problem.value = "" })
  ] });
}
function PutAside({ talk }) {
  talk.version.value;
  const count2 = talk.conversation.questions.size;
  if (count2 === 0 || ![...later.value].some((key) => key.startsWith(`${talk.id}/`))) return null;
  return jsxs18("div", { class: "banner in-dock", children: [
    jsx19(Icon, { name: "alert", size: 14 }),
    jsxs18("span", { class: "grow", children: [
      count2 === 1 ? "A question waits" : `${count2} questions wait`,
      " for an answer."
    ] }),
    jsx19("button", { type: "button", class: "btn small", onClick: () => takeUp(talk), children: "Answer" })
  ] });
}
function BottomTabs() {
  const waiting = [...entries.value.values()].filter((one) => one.state === "waiting").length;
  const tab = (id, icon, words) => jsxs18("button", { type: "button", "aria-current": panels.view.value === id, onClick: () => panels.view.value = id, children: [
    jsx19(Icon, { name: icon, size: 18 }),
    words,
    id === "chat" && waiting > 0 && jsxs18("span", { class: "count", children: [
      waiting,
      jsx19("span", { class: "hide", children: " waiting" })
    ] })
  ] });
  return jsxs18("nav", { class: "bottom-tabs", "aria-label": "Views", children: [
    tab("chat", "chat", "Chat"),
    tab("plan", "plan", "Plan"),
    tab("wire", "wire", "Wire")
  ] });
}
function useKeys() {
  useEffect8(() => {
    let before = "";
    const onKey = (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openPalette();
        return;
      }
      const target = event.target;
      const typing = target.closest("input, textarea, select, [contenteditable], dialog") !== null;
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const combination = before === "g" ? `g${event.key}` : event.key;
      before = event.key;
      const run = {
        "?": () => panels.keys.value = true,
        "/": () => focusComposer(),
        i: focusComposer,
        gc: () => show(null),
        gn: nextWaiting,
        gp: togglePanel
      };
      const action = run[combination];
      if (action !== void 0) {
        event.preventDefault();
        action();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

// src/chat.tsx
import { render } from "./libraries-c0a40985b0.js";
import { jsx as jsx20 } from "./libraries-c0a40985b0.js";
render(jsx20(Page, {}), document.getElementById("app"));
void connection.start();
var later2 = "requestIdleCallback" in window ? requestIdleCallback : setTimeout;
later2(() => warmUp());
