// src/inspect.tsx
import { render } from "./libraries-c0a40985b0.js";

// src/inspect/page.tsx
import { useEffect as useEffect4, useRef as useRef4, useState as useState5 } from "./libraries-c0a40985b0.js";

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

// src/view/parts.tsx
import { useEffect, useLayoutEffect, useRef, useState } from "./libraries-c0a40985b0.js";

// src/text/clock.ts
var offset = Date.now() - performance.now();

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

// src/view/parts.tsx
import { Fragment, jsx as jsx2, jsxs } from "./libraries-c0a40985b0.js";
function IconButton({ icon, label, onClick, class: own = "", pressed, size = 16, expanded }) {
  return jsx2("button", { type: "button", class: `icon ${own}`, "aria-label": label, title: label, "aria-pressed": pressed, "aria-expanded": expanded, onClick, children: jsx2(Icon, { name: icon, size }) });
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
var isMac = /Mac|iPhone|iPad/.test(navigator.platform);

// src/inspect/detail.tsx
import { useState as useState2 } from "./libraries-c0a40985b0.js";

// src/inspect/state.ts
import { batch, computed, signal } from "./libraries-c0a40985b0.js";

// src/inspect/filter.ts
var KEYS = ["method", "update", "kind", "dir", "session", "id", "c", "bad"];
var WORD = /(-?)(?:"([^"]*)"|(\S+))/g;
var NUMBER = /^(ms|size)([<>])(\d+(?:\.\d+)?)([kM]?)$/;
var SCALE = { "": 1, k: 1e3, M: 1e6 };
function parseFilter(text) {
  const filter2 = { tests: [], words: [], error: "" };
  for (const [, sign, quoted, word] of text.matchAll(WORD)) {
    const wanted = sign === "";
    if (word === void 0) {
      if (quoted) filter2.words.push({ wanted, text: quoted.toLowerCase() });
      continue;
    }
    const number = NUMBER.exec(word);
    const colon = word.indexOf(":");
    const key = colon < 0 ? "" : word.slice(0, colon);
    const value = word.slice(colon + 1);
    if (number) filter2.tests.push(numberTest(number[1], number[2], Number(number[3]) * SCALE[number[4]], wanted));
    else if (KEYS.includes(key)) filter2.tests.push(keyTest(key, value.toLowerCase(), wanted));
    else if (/^[a-z]+$/.test(key) && !value.startsWith("//")) filter2.error ||= `${key}: is not a filter; there are ${KEYS.join(", ")}, ms>N, size>N, and text`;
    else filter2.words.push({ wanted, text: word.toLowerCase() });
  }
  return filter2;
}
function numberTest(name2, sign, limit, wanted) {
  return (row) => {
    const value = name2 === "ms" ? (row.took ?? -1) * 1e3 : row.size ?? 0;
    return (value >= 0 && (sign === ">" ? value > limit : value < limit)) === wanted;
  };
}
function keyTest(key, value, wanted) {
  const pattern = glob(value);
  return (row, rules2) => {
    if (key === "bad") return (value === "" ? rules2.length > 0 : rules2.some((rule2) => pattern.test(rule2.toLowerCase()))) === wanted;
    const actual = String(row[key] ?? (key === "c" ? 1 : "")).toLowerCase();
    let holds = pattern.test(actual);
    if (key === "session" && value !== "" && actual !== "") holds ||= actual.startsWith(value) || actual.endsWith(value);
    return holds === wanted;
  };
}
function glob(value) {
  const escaped = value.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".");
  return new RegExp(`^${escaped}$`, "s");
}

// src/inspect/sources.ts
var TOKEN = "acpella.token";
var LoginNeeded = class extends Error {
};
var ServerSource = class {
  #source = "";
  async logIn() {
    const code = location.hash.slice(1);
    if (code === "") return;
    history.replaceState(null, "", location.pathname);
    const answer = await fetch("/acp/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }) });
    if (answer.ok) sessionStorage.setItem(TOKEN, (await answer.json()).token);
    else if (sessionStorage.getItem(TOKEN) === null) throw new LoginNeeded((await answer.text()).trim());
  }
  /** Log in with a token that a person typed. */
  logInWith(token) {
    sessionStorage.setItem(TOKEN, token.trim());
  }
  conversations() {
    return this.#get("sources");
  }
  choose(id) {
    this.#source = id;
  }
  held(after) {
    return this.#get(`hold?after=${after}`);
  }
  async order(order2) {
    return await (await this.#fetch("hold", JSON.stringify(order2))).json();
  }
  async copy(as, n) {
    return (await this.#get(`copy?as=${as}&n=${n}`)).text;
  }
  rows(after) {
    return this.#get(`rows?after=${after}`);
  }
  times() {
    return this.#get("times");
  }
  line(n) {
    return this.#get(`line?n=${n}`);
  }
  search(query2, after) {
    return this.#get(`search?q=${encodeURIComponent(query2)}&after=${after}`);
  }
  async save() {
    const answer = await this.#fetch("recording");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = "recording.jsonl";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1e4);
  }
  async #fetch(what, body) {
    const source2 = this.#source === "" ? "" : `${what.includes("?") ? "&" : "?"}source=${encodeURIComponent(this.#source)}`;
    const headers = { Authorization: `Bearer ${sessionStorage.getItem(TOKEN) ?? ""}` };
    const answer = await fetch(`/inspect/${what}${source2}`, body === void 0 ? { headers } : { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body });
    if (answer.status === 401) throw new LoginNeeded("This link was used already. The terminal gives another one; a token opens the page, too.");
    if (!answer.ok) throw new Error((await answer.text()).trim() || `the server answered ${answer.status}`);
    return answer;
  }
  async #get(what) {
    return await (await this.#fetch(what)).json();
  }
};
var EmbeddedSource = class {
  #data;
  /** In lower case, as far as somebody searched. */
  #bodies = [];
  constructor(text) {
    this.#data = JSON.parse(text);
  }
  async rows(after) {
    return { ...this.#data.batch, rows: after === 0 ? this.#data.batch.rows : [] };
  }
  async times() {
    return this.#data.times;
  }
  async line(n) {
    return this.#data.lines[n - 1] ?? { line: null, notes: [] };
  }
  async copy(as) {
    return this.#data.copies[as];
  }
  async search(query2, after) {
    const filter2 = parseFilter(query2);
    const { rows: rows2, rules: rules2 } = this.#data.batch;
    const holds = (row) => {
      if (!filter2.tests.every((test) => test(row, rules2[row.n] ?? []))) return false;
      const body = this.#bodies[row.n] ??= JSON.stringify(this.#data.lines[row.n - 1]?.line ?? null).toLowerCase();
      return filter2.words.every((word) => body.includes(word.text) === word.wanted);
    };
    return { rows: rows2.slice(after).filter(holds).map((row) => row.n), until: rows2.length };
  }
};

// src/inspect/state.ts
var rows = [];
var rules = /* @__PURE__ */ new Map();
var answers = /* @__PURE__ */ new Map();
var version = signal(0);
var about = signal(null);
var times = signal(null);
var problem = signal("");
var paused = signal(false);
var folding = signal(true);
var query = signal("");
var selected = signal(0);
var line = signal(null);
var lockedOut = signal(false);
var chat = signal(false);
var conversations = signal([]);
var matches = signal(null);
var opened = signal(/* @__PURE__ */ new Set());
var filter = computed(() => parseFilter(query.value));
var shown = computed(() => {
  version.value;
  const { tests, words, error } = filter.value;
  const text = words.length > 0 ? matches.value : null;
  const list2 = [];
  for (const row of rows) {
    if (error === "" && !tests.every((test) => test(row, rules.get(row.n) ?? []))) continue;
    if (text !== null && !text.has(row.n)) continue;
    const before = list2.at(-1);
    if (folding.value && before && row.fold && row.fold === before.row.fold && row.c === before.row.c && !opened.value.has(before.row.n)) {
      before.count += 1;
      before.size += row.size ?? 0;
      before.last = row;
    } else list2.push({ row, count: 1, size: row.size ?? 0, last: row });
  }
  return list2;
});
var source;
var run = 0;
async function start(from) {
  source = from;
  lockedOut.value = false;
  const mine = ++run;
  void list(mine);
  for (; ; ) {
    try {
      const got = await source.rows(rows.length);
      if (mine !== run) return;
      problem.value = "";
      take(got);
      if (got.live && got.source === "") continue;
      source.choose?.(got.source);
      if (!got.live && rows.length >= got.total) {
        await look();
        return;
      }
      if (got.rows.length < 5e3) await look();
      while (paused.value) await pause(200);
    } catch (error) {
      if (mine !== run) return;
      problem.value = error instanceof Error ? error.message : String(error);
      if (error instanceof LoginNeeded) {
        lockedOut.value = true;
        return;
      }
      await pause(2e3);
    }
  }
}
var pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
async function list(mine) {
  while (mine === run && source.conversations) {
    try {
      const got = await source.conversations();
      batch(() => {
        conversations.value = got.sources;
        chat.value = got.chat;
      });
    } catch {
    }
    await pause(3e3);
  }
}
function choose(id) {
  source.choose?.(id);
  batch(() => {
    rows.length = 0;
    rules.clear();
    answers.clear();
    about.value = null;
    times.value = null;
    matches.value = null;
    searched = 0;
    opened.value = /* @__PURE__ */ new Set();
    selected.value = 0;
    line.value = null;
    version.value += 1;
  });
  void start(source);
}
function take({ rows: more, rules: broken, ...rest }) {
  batch(() => {
    for (const row of more) {
      rows.push(row);
      if (row.pair !== void 0) answers.set(row.pair, { took: row.took ?? 0, row: row.n });
    }
    for (const [n, some] of Object.entries(broken)) rules.set(Number(n), some);
    about.value = rest;
    if (more.length > 0) version.value += 1;
  });
  if (more.length > 0 && filter.value.words.length > 0 && matches.value !== null) void search(searched);
}
async function look() {
  times.value = await source.times();
}
var searches = 0;
var searched = 0;
async function search(after = 0) {
  const mine = ++searches;
  const got = await source.search(query.value, after);
  if (mine !== searches) return;
  const next = after === 0 ? /* @__PURE__ */ new Set() : new Set(matches.value);
  for (const row of got.rows) next.add(row);
  searched = got.until;
  matches.value = next;
}
function setQuery(text) {
  query.value = text;
  searched = 0;
  if (filter.value.words.length === 0 || filter.value.error !== "") matches.value = null;
  else void search();
}
function toggleWord(word) {
  const words = query.value.split(/\s+/).filter((each) => each !== "");
  setQuery((words.includes(word) ? words.filter((each) => each !== word) : [...words, word]).join(" "));
}
async function select(n) {
  selected.value = n;
  line.value = null;
  if (n === 0) return;
  const got = await source.line(n);
  if (selected.value === n) line.value = got;
}
function unfold(n) {
  const next = new Set(opened.value);
  if (!next.delete(n)) next.add(n);
  opened.value = next;
}
function step(by) {
  const list2 = shown.value;
  const at = list2.findIndex((each) => each.row.n <= selected.value && selected.value <= each.last.n);
  const next = list2[Math.min(list2.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
  if (next) void select(next.row.n);
}
function pairOf(n) {
  return answers.get(n)?.row ?? rows[n - 1]?.pair ?? 0;
}
var canSave = () => source?.save !== void 0;
var save = () => void source.save?.();

// src/inspect/words.ts
function seconds(value) {
  if (value < 5e-4) return "0 ms";
  if (value < 1) return `${Math.round(value * 1e3)} ms`;
  return value < 100 ? `${value.toFixed(1)} s` : value < 3600 ? `${Math.round(value)} s` : `${(value / 3600).toFixed(1)} h`;
}
function bytes(value) {
  if (value < 1e3) return `${value} B`;
  const kilo = value / 1e3;
  if (kilo < 1e3) return `${kilo < 10 ? kilo.toFixed(1) : Math.round(kilo)} kB`;
  return `${(kilo / 1e3).toFixed(1)} MB`;
}

// src/inspect/detail.tsx
import { Fragment as Fragment2, jsx as jsx3, jsxs as jsxs2 } from "./libraries-c0a40985b0.js";
var OPEN_DEPTH = 4;
var LONG_TEXT = 2e3;
var MANY = 200;
function Detail() {
  const [tab, setTab] = useState2("tree");
  const row = rows[selected.value - 1];
  const findings = times.value?.findings ?? [];
  if (!row) return jsx3("aside", { class: "detail", "aria-label": "Findings", children: jsx3(Findings, { findings }) });
  const pair = pairOf(row.n);
  const here = findings.filter((finding) => finding.rows.includes(row.n));
  const body = line.value === null ? void 0 : bodyOf(line.value.line);
  return jsxs2("aside", { class: "detail", "aria-label": `Frame ${row.n}`, "data-detail": row.n, children: [
    jsxs2("header", { class: "detail-head", children: [
      jsxs2("h2", { children: [
        jsx3("span", { class: "dim", children: row.n }),
        " ",
        jsx3(Visible, { text: row.method || row.kind }),
        " ",
        row.update && jsx3("span", { class: "badge accent", children: jsx3(Visible, { text: row.update }) })
      ] }),
      jsxs2("p", { class: "num", children: [
        row.t.toFixed(3),
        " s",
        row.dir && jsxs2(Fragment2, { children: [
          " · ",
          row.dir === "out" ? "to the agent" : "from the agent"
        ] }),
        " · ",
        bytes(row.size ?? 0),
        row.session && jsxs2(Fragment2, { children: [
          " · ",
          jsx3(Visible, { text: row.session })
        ] })
      ] })
    ] }),
    jsxs2("div", { class: "detail-tabs", children: [
      jsxs2("span", { role: "tablist", "aria-label": "Message as", children: [
        jsx3("button", { type: "button", role: "tab", "aria-selected": tab === "tree", onClick: () => setTab("tree"), children: "Tree" }),
        jsx3("button", { type: "button", role: "tab", "aria-selected": tab === "raw", onClick: () => setTab("raw"), children: "Raw" })
      ] }),
      pair > 0 && jsxs2("button", { type: "button", class: "linkish", onClick: () => void select(pair), children: [
        row.kind === "req" ? "Answer" : "Request",
        " ",
        pair
      ] }),
      jsx3("span", { class: "grow" }),
      jsx3(CopyAs, { kind: "python", n: row.n }),
      jsx3(CopyAs, { kind: "pytest", n: row.n }),
      jsx3(CopyButton, { text: () => JSON.stringify(body, null, 2), label: "Copy as JSON" })
    ] }),
    jsx3("div", { class: "detail-scroll", tabIndex: 0, role: "region", "aria-label": "Message", children: body === void 0 ? jsx3("p", { class: "nothing dim", children: "Reading…" }) : tab === "raw" ? jsx3("pre", { class: "raw", children: jsx3(Visible, { text: JSON.stringify(body, null, 2) }) }) : jsx3(Tree, { value: body, notes: notesOf(line.value?.notes ?? []) }) }),
    (here.length > 0 || (rules.get(row.n)?.length ?? 0) > 0) && jsx3(Findings, { findings: here })
  ] });
}
function CopyAs({ kind, n }) {
  const [word, setWord] = useState2("");
  const copy = async () => {
    try {
      const text = await source.copy(kind, n);
      await navigator.clipboard.writeText(text);
      setWord(text === "" ? "nothing to copy" : "copied");
    } catch (error) {
      setWord(error instanceof Error ? error.message : String(error));
    }
    setTimeout(() => setWord(""), 3e3);
  };
  return jsx3("button", { type: "button", class: "linkish", title: `Copy the conversation up to here as ${kind === "pytest" ? "a test" : "a program"}`, onClick: () => void copy(), "data-copy": kind, children: word || (kind === "python" ? "Python" : "pytest") });
}
function bodyOf(value) {
  if (typeof value !== "object" || value === null) return value;
  const entry = value;
  return entry.msg ?? entry.text ?? entry.b64 ?? entry;
}
var notesOf = (notes) => new Map(notes.map((note) => [note.path, note]));
function Tree({ value, notes }) {
  return jsx3("div", { class: "tree", children: members(value).map(([name2, entry]) => jsx3(Branch, { name: name2, value: entry, path: name2, depth: 1, notes }, name2)) });
}
function members(value) {
  if (typeof value !== "object" || value === null) return [["", value]];
  return Object.entries(value);
}
function Branch({ name: name2, value, path, depth, notes }) {
  const nested = typeof value === "object" && value !== null;
  const entries = nested ? Object.entries(value) : [];
  const [open, setOpen] = useState2(depth < OPEN_DEPTH && entries.length <= 50 && name2 !== "_meta" && name2 !== "rawInput");
  const [explained, setExplained] = useState2(false);
  const note = notes.get(path);
  const list2 = Array.isArray(value);
  const indent = `d${Math.min(depth, 8)}`;
  return jsxs2(Fragment2, { children: [
    jsxs2("div", { class: `tr ${indent}${note?.unknown ? " unknown" : ""}`, children: [
      nested && entries.length > 0 ? jsx3("button", { type: "button", class: `fold${open ? " open" : ""}`, "aria-expanded": open, "aria-label": `${open ? "Close" : "Open"} ${name2}`, onClick: () => setOpen(!open), children: jsx3(Icon, { name: "chevron", size: 12 }) }) : jsx3("span", { class: "fold" }),
      jsx3("button", { type: "button", class: "key", disabled: !note?.text, "aria-expanded": note?.text ? explained : void 0, onClick: () => setExplained(!explained), children: jsx3(Visible, { text: name2 }) }),
      jsx3("span", { class: "val", children: nested ? jsx3("span", { class: "dim", children: list2 ? `${entries.length} ${entries.length === 1 ? "item" : "items"}` : open ? "" : jsx3(Visible, { text: `{ ${entries.map(([key]) => key).slice(0, 4).join(", ")} }` }) }) : jsx3(Leaf, { value }) }),
      (note?.unknown || name2 === "_meta") && jsx3("span", { class: "badge line", children: "ext" })
    ] }),
    explained && note?.text && jsx3("p", { class: `help ${indent}`, children: note.text }),
    open && entries.slice(0, MANY).map(([key, entry]) => jsx3(Branch, { name: key, value: entry, path: list2 ? `${path}[]` : `${path}.${key}`, depth: depth + 1, notes }, key)),
    open && entries.length > MANY && jsxs2("p", { class: `help ${indent}`, children: [
      entries.length - MANY,
      " more stand in Raw"
    ] })
  ] });
}
function Leaf({ value }) {
  const [whole, setWhole] = useState2(false);
  if (typeof value !== "string") return jsx3("span", { class: typeof value === "number" ? "n" : "w", children: String(value) });
  const text = whole ? value : value.slice(0, LONG_TEXT);
  return jsxs2("span", { class: "s", children: [
    '"',
    jsx3(Visible, { text }),
    '"',
    text.length < value.length && jsxs2("button", { type: "button", class: "linkish", onClick: () => setWhole(true), children: [
      "all ",
      value.length,
      " characters"
    ] })
  ] });
}
function Findings({ findings }) {
  const total = times.value?.finding_count ?? findings.length;
  const Heading = selected.value === 0 ? "h2" : "h3";
  return jsxs2("section", { class: "finds", "aria-label": "Findings", tabIndex: 0, children: [
    jsxs2(Heading, { children: [
      "Findings ",
      findings.length > 0 ? jsx3("span", { class: "badge err", children: selected.value === 0 ? total : findings.length }) : jsx3("span", { class: "badge ok", children: "none" })
    ] }),
    findings.slice(0, 100).map((finding, index) => jsxs2("article", { class: `find ${finding.level === "must" || finding.level === "capability" ? "e" : "w"}`, children: [
      jsx3(Icon, { name: finding.level === "must" || finding.level === "capability" ? "cross" : "alert", size: 14 }),
      jsxs2("div", { children: [
        jsx3("b", { children: jsx3(Visible, { text: finding.text }) }),
        jsx3("p", { children: finding.sentence }),
        jsxs2("p", { class: "meta", children: [
          jsx3("span", { class: "badge", children: finding.rule }),
          " ",
          jsx3("code", { children: finding.requirement }),
          " ",
          jsx3("span", { class: "dim", children: finding.side }),
          finding.rows.map((n) => jsx3("button", { type: "button", class: "linkish", onClick: () => void select(n), children: n }, n))
        ] })
      ] })
    ] }, index))
  ] });
}

// src/inspect/list.tsx
import { useEffect as useEffect2, useRef as useRef2, useState as useState3 } from "./libraries-c0a40985b0.js";
import { Fragment as Fragment3, jsx as jsx4, jsxs as jsxs3 } from "./libraries-c0a40985b0.js";
var HEIGHT = 24;
var MORE = 12;
var SLOW = 1;
var KINDS = { req: "req", ntf: "ntf", res: "res", err: "err", text: "std", stderr: "log", event: "sys" };
function List() {
  const list2 = shown.value;
  const box = useRef2(null);
  const [view, setView] = useState3({ top: 0, height: 600 });
  const atEnd = useRef2(true);
  useEffect2(() => {
    const element = box.current;
    const measure = () => {
      atEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - HEIGHT;
      setView({ top: element.scrollTop, height: element.clientHeight });
    };
    const watcher = new ResizeObserver(measure);
    watcher.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      watcher.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  useEffect2(() => {
    if (about.value?.live && atEnd.current && selected.value === 0) box.current.scrollTop = box.current.scrollHeight;
  }, [list2.length]);
  useEffect2(() => {
    const at = list2.findIndex((each) => each.row.n <= selected.value && selected.value <= each.last.n);
    const element = box.current;
    const head = HEIGHT;
    if (at < 0) return;
    if (at * HEIGHT < element.scrollTop) element.scrollTop = at * HEIGHT;
    else if ((at + 1) * HEIGHT + head > element.scrollTop + element.clientHeight) element.scrollTop = (at + 1) * HEIGHT + head - element.clientHeight;
  }, [selected.value]);
  const first = Math.max(0, Math.floor(view.top / HEIGHT) - MORE);
  const last = Math.min(list2.length, Math.ceil((view.top + view.height) / HEIGHT) + MORE);
  return jsxs3("div", { class: "frames", role: "grid", "aria-rowcount": list2.length, "aria-label": "Frames", tabIndex: 0, ref: box, "data-list": true, children: [
    jsx4("div", { class: "fr head", role: "row", children: ["#", "time", "Δ", "", "kind", "method", "preview", "size", "took"].map((word, index) => jsx4("span", { role: "columnheader", children: word || jsx4("span", { class: "hide", children: "direction" }) }, index)) }),
    jsx4("svg", { class: "space", height: first * HEIGHT, width: "1", "aria-hidden": "true" }),
    list2.slice(first, last).map((each, index) => jsx4(Line, { shown: each, before: list2[first + index - 1], at: first + index }, each.row.n)),
    jsx4("svg", { class: "space", height: (list2.length - last) * HEIGHT, width: "1", "aria-hidden": "true" }),
    list2.length === 0 && jsx4("p", { class: "nothing dim", children: about.value === null ? "Reading…" : about.value.total === 0 ? "Nothing was said yet." : "No row fits the filter." })
  ] });
}
function Line({ shown: { row, count, size, last }, before, at }) {
  const broken = rules.get(row.n) ?? [];
  const gap = before && before.row.c === row.c ? row.t - before.last.t : 0;
  const took = row.kind === "req" ? answers.get(row.n)?.took : count > 1 ? last.t - row.t : void 0;
  const current = row.n <= selected.value && selected.value <= last.n;
  return jsxs3("div", { class: `fr k-${row.kind}${broken.length > 0 ? " bad" : ""}`, role: "row", "aria-rowindex": at + 1, "aria-selected": current, "data-row": row.n, onClick: () => void select(row.n), onDblClick: () => unfold(row.n), children: [
    jsx4("span", { role: "gridcell", children: row.n }),
    jsx4("span", { role: "gridcell", children: row.kind === "event" && row.t === 0 ? "" : row.t.toFixed(3) }),
    jsx4("span", { role: "gridcell", class: gap >= SLOW ? "slow" : "", children: gap > 0 ? seconds(gap) : "" }),
    jsx4("span", { role: "gridcell", class: `to-${row.dir ?? "none"}`, children: row.dir && jsxs3(Fragment3, { children: [
      jsx4(Icon, { name: row.dir === "out" ? "right" : "left", size: 12 }),
      jsx4("span", { class: "hide", children: row.dir === "out" ? "to the agent" : "from the agent" })
    ] }) }),
    jsx4("span", { role: "gridcell", children: jsx4("span", { class: `kd ${KINDS[row.kind]}`, children: KINDS[row.kind] }) }),
    jsxs3("span", { role: "gridcell", class: "m cut", children: [
      jsx4(Visible, { text: row.method || (row.kind === "text" ? "not a message" : row.kind === "stderr" ? "stderr" : "") }),
      row.update && jsxs3("span", { class: "upd", children: [
        " ",
        jsx4(Visible, { text: row.update })
      ] }),
      count > 1 && jsxs3("button", { type: "button", class: "cnt", title: "Show each piece", onClick: (event) => {
        event.stopPropagation();
        unfold(row.n);
      }, children: [
        "×",
        count
      ] }),
      row.method?.startsWith("_") && jsx4("span", { class: "badge line", children: "ext" })
    ] }),
    jsxs3("span", { role: "gridcell", class: "pv cut", children: [
      broken.length > 0 && jsxs3(Fragment3, { children: [
        jsx4(Icon, { name: "alert", size: 12 }),
        jsx4("span", { class: "badge err", children: broken[0] }),
        " "
      ] }),
      jsx4(Visible, { text: row.preview ?? "" })
    ] }),
    jsx4("span", { role: "gridcell", children: row.kind === "event" ? "" : bytes(size) }),
    jsx4("span", { role: "gridcell", class: took !== void 0 && took >= SLOW ? "slow" : "", children: took !== void 0 ? seconds(took) : row.kind === "req" ? jsx4("span", { class: "dim", children: "open" }) : "" })
  ] });
}

// src/inspect/hold.ts
import { effect, signal as signal2 } from "./libraries-c0a40985b0.js";
var setting = signal2(false);
var rule = signal2(null);
var held = signal2([]);
var holdProblem = signal2("");
var changes = 0;
var watching = "";
function take2(state) {
  rule.value = state.rule;
  held.value = state.held;
  changes = state.changes;
}
async function watch(id) {
  watching = id;
  changes = 0;
  while (watching === id && about.value?.source === id && about.value.can_hold) {
    try {
      const state = await source.held(changes);
      if (watching !== id) return;
      take2(state);
    } catch (error) {
      rule.value = null;
      held.value = [];
      if (setting.value) holdProblem.value = error instanceof Error ? error.message : String(error);
    }
    if (rule.value === null) await pause(1e3);
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
async function order(what) {
  try {
    holdProblem.value = "";
    take2(await source.order(what));
    return true;
  } catch (error) {
    holdProblem.value = error instanceof Error ? error.message : String(error);
    return false;
  }
}

// src/inspect/holding.tsx
import { useEffect as useEffect3, useRef as useRef3, useState as useState4 } from "./libraries-c0a40985b0.js";
import { jsx as jsx5, jsxs as jsxs4 } from "./libraries-c0a40985b0.js";
var FAULTS = [["hold", "hold it"], ["delay", "delay it"], ["drop", "drop it"], ["duplicate", "send it twice"], ["garble", "change a byte"]];
var DELAY = 2;
function Holding() {
  const active = rule.value;
  if (!setting.value && active === null) return null;
  return jsxs4("section", { class: "holding", "aria-label": "Hold and change messages", "data-holding": active === null ? "off" : "on", children: [
    active === null ? jsx5(Start, {}) : jsx5(RedBar, { filter: active.filter, then: active.then }),
    holdProblem.value !== "" && jsx5("p", { class: "filter-error", role: "alert", children: holdProblem.value }),
    held.value.length > 0 && jsx5("ul", { class: "held", children: held.value.slice(0, 50).map((each) => jsx5(Message, { held: each }, each.n)) }),
    held.value.length > 50 && jsxs4("p", { class: "dim", children: [
      held.value.length - 50,
      " more wait behind them."
    ] })
  ] });
}
function Start() {
  const [words, setWords] = useState4(query.value || "method:session/request_permission");
  const [then, setThen] = useState4("hold");
  const [seconds2, setSeconds] = useState4(DELAY);
  const input = useRef3(null);
  useEffect3(() => input.current?.focus(), []);
  const start2 = async () => {
    if (await order({ do: "start", filter: words, then, seconds: seconds2 })) setting.value = false;
  };
  return jsxs4("form", { class: "hold-form", onSubmit: (event) => {
    event.preventDefault();
    void start2();
  }, children: [
    jsxs4("label", { class: "filter-in", children: [
      jsx5("span", { children: "When a message fits" }),
      jsx5("input", { ref: input, value: words, onInput: (event) => setWords(event.currentTarget.value), spellcheck: false, autocomplete: "off", placeholder: "every message", "data-hold-filter": true })
    ] }),
    jsxs4("label", { children: [
      "then ",
      jsx5("select", { value: then, onChange: (event) => setThen(event.currentTarget.value), children: FAULTS.map(([name2, text]) => jsx5("option", { value: name2, children: text }, name2)) })
    ] }),
    then === "delay" && jsxs4("label", { children: [
      "for ",
      jsx5("input", { type: "number", min: "0", max: "600", step: "0.5", value: seconds2, onInput: (event) => setSeconds(Number(event.currentTarget.value)) }),
      " s"
    ] }),
    jsx5("button", { type: "submit", class: "btn small primary", children: "Start" }),
    jsx5("button", { type: "button", class: "btn small", onClick: () => setting.value = false, children: "Cancel" })
  ] });
}
function RedBar({ filter: filter2, then }) {
  const text = FAULTS.find(([name2]) => name2 === then)?.[1] ?? then;
  return jsxs4("div", { class: "red-bar", role: "status", children: [
    jsx5(Icon, { name: "alert", size: 16 }),
    jsxs4("span", { class: "grow", children: [
      jsx5("b", { children: "This page changes the conversation." }),
      " When a message fits ",
      jsx5("code", { children: jsx5(Visible, { text: filter2 || "anything" }) }),
      ": ",
      text,
      ". ",
      held.value.length,
      " ",
      held.value.length === 1 ? "waits" : "wait",
      "."
    ] }),
    jsx5("button", { type: "button", class: "btn small", onClick: () => void order({ do: "stop" }), "data-stop": true, children: "Release all and stop" })
  ] });
}
function Message({ held: message }) {
  const [editing, setEditing] = useState4("");
  const act = (how, more = {}) => void order({ do: "act", n: message.n, how, ...more });
  const name2 = `${message.method || message.kind} ${message.n}`;
  return jsxs4("li", { class: "held-one", "data-held": message.n, children: [
    jsxs4("p", { class: "held-head", children: [
      jsxs4("span", { class: `to-${message.dir}`, children: [
        jsx5(Icon, { name: message.dir === "out" ? "right" : "left", size: 12 }),
        jsx5("span", { class: "hide", children: message.dir === "out" ? "to the agent" : "from the agent" })
      ] }),
      jsx5("span", { class: "kd", children: message.kind }),
      " ",
      jsxs4("b", { class: "cut", children: [
        jsx5(Visible, { text: message.method ?? "" }),
        " ",
        message.update && jsx5("span", { class: "upd", children: jsx5(Visible, { text: message.update }) })
      ] }),
      jsx5("span", { class: "pv cut", children: jsx5(Visible, { text: message.preview ?? "" }) })
    ] }),
    jsxs4("div", { class: "held-acts", role: "group", "aria-label": name2, children: [
      jsx5("button", { type: "button", class: "btn small primary", onClick: () => act("release"), children: "Release" }),
      message.whole && jsx5("button", { type: "button", class: "btn small", "aria-expanded": editing === "edit", onClick: () => setEditing(editing === "edit" ? "" : "edit"), children: "Edit" }),
      message.kind === "req" && jsx5("button", { type: "button", class: "btn small", "aria-expanded": editing === "answer", onClick: () => setEditing(editing === "answer" ? "" : "answer"), children: "Answer" }),
      jsxs4("button", { type: "button", class: "btn small", onClick: () => act("delay", { seconds: DELAY }), children: [
        "Delay ",
        DELAY,
        " s"
      ] }),
      jsx5("button", { type: "button", class: "btn small", onClick: () => act("duplicate"), children: "Twice" }),
      jsx5("button", { type: "button", class: "btn small", onClick: () => act("garble"), children: "Garble" }),
      jsx5("button", { type: "button", class: "btn small danger", onClick: () => act("drop"), children: "Drop" })
    ] }),
    editing !== "" && jsx5(Editor, { message, how: editing, onDone: () => setEditing("") }, editing)
  ] });
}
function Editor({ message, how, onDone }) {
  const [text, setText] = useState4(how === "edit" ? pretty(message.text) : '{\n  "outcome": { "outcome": "cancelled" }\n}');
  const [wrong, setWrong] = useState4("");
  const box = useRef3(null);
  useEffect3(() => box.current?.focus(), []);
  const send = async () => {
    if (how === "edit") {
      await order({ do: "act", n: message.n, how, text: text === pretty(message.text) ? message.text : text });
      return onDone();
    }
    try {
      const result = JSON.parse(text);
      await order({ do: "act", n: message.n, how, result });
      onDone();
    } catch (error) {
      setWrong(String(error instanceof Error ? error.message : error));
    }
  };
  let note = "";
  if (how === "edit") try {
    JSON.parse(text);
  } catch {
    note = "This is not JSON. It is sent as it stands.";
  }
  return jsxs4("form", { class: "held-edit", onSubmit: (event) => {
    event.preventDefault();
    void send();
  }, children: [
    jsxs4("label", { children: [
      jsx5("span", { class: "hide", children: how === "edit" ? "The message" : "The result" }),
      jsx5("textarea", { ref: box, value: text, rows: Math.min(16, text.split("\n").length + 1), spellcheck: false, onInput: (event) => setText(event.currentTarget.value), onKeyDown: (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          void send();
        } else if (event.key === "Escape") onDone();
      }, "data-editor": true })
    ] }),
    (note || wrong) && jsx5("p", { class: "filter-error", role: "alert", children: wrong || note }),
    jsx5("button", { type: "submit", class: "btn small primary", children: how === "edit" ? "Send this instead" : "Send this as the result" }),
    jsx5("button", { type: "button", class: "btn small", onClick: onDone, children: "Cancel" })
  ] });
}
var UNSEEN = /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  } catch {
    return text;
  }
}

// src/inspect/waterfall.tsx
import { Fragment as Fragment4, jsx as jsx6, jsxs as jsxs5 } from "./libraries-c0a40985b0.js";
var LANES = [["turn", "Turn"], ["tool", "Tool call"], ["person", "Waiting for a person"], ["silence", "Model silence"]];
var IDLE = 15;
var FOLDED = 2;
var LAST = 12;
function Waterfall() {
  const told = times.value;
  if (told === null || told.turns.length === 0) return null;
  const turns = told.turns.slice(-LAST);
  const from = turns[0].turn;
  const spans = told.spans.filter((span) => (span.turn ?? 0) >= from);
  const end = told.stats.seconds;
  const scale = timeScale(spans, end);
  const latest = turns.at(-1);
  const now2 = rows[selected.value - 1]?.t;
  return jsxs5("section", { class: "wf", "aria-label": "Where the time went", children: [
    jsxs5("div", { class: "wf-sum", children: [
      jsxs5("span", { children: [
        jsxs5("b", { children: [
          "Turn ",
          latest.turn
        ] }),
        " ",
        latest.total === null ? "goes on" : jsxs5(Fragment4, { children: [
          "took ",
          jsx6("b", { children: seconds(latest.total) })
        ] })
      ] }),
      jsx6(Key, { lane: "turn", text: `model writes ${seconds(latest.writing)}` }),
      jsx6(Key, { lane: "person", text: `person ${seconds(latest.person)}` }),
      jsx6(Key, { lane: "silence", text: `model silent ${seconds(latest.silence)}` }),
      jsx6(Key, { lane: "tool", text: `tools ${seconds(latest.tools)}` }),
      jsx6("span", { class: "grow" }),
      jsx6(Prompts, {})
    ] }),
    jsxs5("div", { class: "wf-body", children: [
      jsx6("ul", { class: "wf-names", children: LANES.map(([lane, name2]) => jsx6("li", { children: name2 }, lane)) }),
      jsxs5("svg", { class: "lanes", role: "img", "aria-label": turns.map((turn) => `Turn ${turn.turn}: ${turn.total === null ? "goes on" : seconds(turn.total)}`).join(", "), children: [
        LANES.map(([lane], index) => jsx6("line", { class: "lane", x1: "0", x2: "100%", y1: 14 + index * 20, y2: 14 + index * 20 }, lane)),
        scale.gaps.map((gap) => jsx6("text", { class: "gap", x: percent(scale.at(gap.at + gap.length / 2)), y: "50", "text-anchor": "middle", children: seconds(gap.length) }, gap.at)),
        spans.map((span, index) => jsx6(Bar, { span, end, at: scale.at }, index)),
        now2 !== void 0 && jsx6("line", { class: "now", x1: percent(scale.at(now2)), x2: percent(scale.at(now2)), y1: "2", y2: "86" })
      ] })
    ] })
  ] });
}
function Bar({ span, end, at }) {
  const lane = LANES.findIndex(([name2]) => name2 === span.lane);
  const left = at(span.start);
  const width = Math.max(0.25, at(span.end ?? end) - left);
  const length = (span.end ?? end) - span.start;
  const words = `${span.label ?? ""} · ${span.end === void 0 ? "goes on" : seconds(length)}`;
  return jsxs5("g", { class: "bar-of", onClick: () => void select(span.row), children: [
    jsx6("rect", { class: `w-${span.lane}${span.bad ? " w-bad" : ""}`, x: percent(left), y: 8 + lane * 20, width: percent(width), height: "12", rx: "2.5", children: jsx6("title", { children: words }) }),
    (span.lane === "turn" ? width > 6 : span.lane === "person" && width > 8) && jsx6("text", { class: "in", x: percent(left + 0.5), y: 17.5 + lane * 20, children: span.lane === "turn" ? words : seconds(length) })
  ] });
}
function Key({ lane, text }) {
  return jsxs5("span", { class: "wf-key", children: [
    jsx6("svg", { width: "10", height: "10", "aria-hidden": "true", children: jsx6("rect", { class: `w-${lane}`, width: "10", height: "10", rx: "2" }) }),
    text
  ] });
}
function Prompts() {
  const prompt = times.value?.stats.methods.find((each) => each.method === "session/prompt");
  if (!prompt || prompt.p50 === null || prompt.p95 === null) return null;
  return jsxs5("span", { class: "dim only-wide", children: [
    jsx6(Icon, { name: "clock", size: 12 }),
    " session/prompt p50 ",
    seconds(prompt.p50),
    " · p95 ",
    seconds(prompt.p95)
  ] });
}
var percent = (value) => `${value.toFixed(2)}%`;
function timeScale(spans, end) {
  const busy = spans.filter((span) => span.lane === "turn").map((span) => [span.start, span.end ?? end]).sort((a, b) => a[0] - b[0]);
  const begin = busy[0]?.[0] ?? 0;
  const gaps = [];
  let reached = begin;
  for (const [start2, stop] of busy) {
    if (start2 - reached > IDLE) gaps.push({ at: reached, length: start2 - reached });
    reached = Math.max(reached, stop);
  }
  const squeezed = (time) => {
    let value = Math.min(Math.max(time, begin), reached) - begin;
    for (const gap of gaps) {
      if (time >= gap.at + gap.length) value -= gap.length - FOLDED;
      else if (time > gap.at) value -= (time - gap.at) * (1 - FOLDED / gap.length);
    }
    return value;
  };
  const whole = Math.max(1e-3, squeezed(reached));
  return { at: (time) => squeezed(time) / whole * 99, gaps };
}

// src/inspect/page.tsx
import { Fragment as Fragment5, jsx as jsx7, jsxs as jsxs6 } from "./libraries-c0a40985b0.js";
var KEYS2 = [
  ["j  k", "next and previous row"],
  ["[  ]", "request and answer"],
  ["f  /", "filter"],
  ["g  G", "first and last row"],
  ["z", "fold streams"],
  ["p", "pause"],
  ["h", "hold messages"],
  ["Esc", "close the message"],
  ["?", "these keys"]
];
function InspectorPage() {
  const [help, setHelp] = useState5(false);
  const input = useRef4(null);
  useEffect4(() => {
    const press = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof HTMLTextAreaElement || event.target instanceof HTMLSelectElement) return;
      if (event.target instanceof HTMLInputElement) {
        if (event.target.form !== null) return;
        if (event.key === "Escape" || event.key === "Enter") event.target.blur();
        return;
      }
      const act = {
        j: () => step(1),
        k: () => step(-1),
        f: () => input.current?.focus(),
        "/": () => input.current?.focus(),
        z: () => folding.value = !folding.value,
        "[": () => void select(pairOf(selected.value) || selected.value),
        "]": () => void select(pairOf(selected.value) || selected.value),
        g: () => void select(shown.value[0]?.row.n ?? 0),
        G: () => void select(shown.value.at(-1)?.row.n ?? 0),
        p: () => paused.value = !paused.value,
        h: () => setting.value = about.value?.can_hold === true && !setting.value,
        "?": () => setHelp((open) => !open),
        Escape: () => help ? setHelp(false) : void select(0),
        ArrowDown: () => step(1),
        ArrowUp: () => step(-1)
      };
      if (event.key.startsWith("Arrow") && !(event.target instanceof HTMLElement && event.target.closest("[data-list]"))) return;
      const action = act[event.key];
      if (action) {
        event.preventDefault();
        action();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [help]);
  const { error } = filter.value;
  const count = times.value?.finding_count ?? 0;
  return jsxs6("div", { class: chat.value ? "with-chat" : "alone", children: [
    chat.value && jsx7("iframe", { class: "chat-frame", src: "/", title: "Conversation", "data-chat": true }),
    jsxs6("main", { class: `insp${selected.value > 0 || count > 0 ? " with-detail" : ""}`, children: [
      jsx7(Bar2, {}),
      jsxs6("div", { class: "notices", children: [
        problem.value !== "" && jsx7("p", { class: "banner err", role: "alert", children: problem.value }),
        lockedOut.value && jsx7(TokenForm, {}),
        jsx7(Holding, {})
      ] }),
      jsxs6("div", { class: "filter", children: [
        jsxs6("label", { class: `filter-in${error ? " wrong" : ""}`, children: [
          jsx7(Icon, { name: "search", size: 14 }),
          jsx7("span", { class: "hide", children: "Filter" }),
          jsx7("input", { ref: input, value: query.value, onInput: (event) => setQuery(event.currentTarget.value), spellcheck: false, autocomplete: "off", placeholder: "method:fs/* -kind:ntf ms>500 bad: or any text", "aria-invalid": error !== "", "aria-describedby": "filter-error", "data-filter": true }),
          jsx7("kbd", { children: "f" })
        ] }),
        jsxs6(Toggle, { on: /(^|\s)bad:(\s|$)/.test(query.value), onClick: () => toggleWord("bad:"), children: [
          jsx7(Icon, { name: "alert", size: 14 }),
          " ",
          count,
          " ",
          count === 1 ? "finding" : "findings"
        ] }),
        jsx7(Toggle, { on: /(^|\s)ms>500(\s|$)/.test(query.value), onClick: () => toggleWord("ms>500"), children: "Slow" }),
        jsx7(Toggle, { on: folding.value, onClick: () => folding.value = !folding.value, children: "Fold streams" }),
        error !== "" && jsx7("p", { class: "filter-error", id: "filter-error", role: "alert", children: error })
      ] }),
      jsx7(Waterfall, {}),
      jsx7(List, {}),
      jsx7(Detail, {}),
      jsx7(Foot, { onHelp: () => setHelp(true) }),
      help && jsxs6("div", { class: "keys-box", role: "dialog", "aria-label": "Keys", children: [
        jsx7("dl", { children: KEYS2.map(([key, what]) => jsxs6("div", { children: [
          jsx7("dt", { children: jsx7("kbd", { children: key }) }),
          jsx7("dd", { children: what })
        ] }, key)) }),
        jsx7("button", { type: "button", class: "btn small", autofocus: true, onClick: () => setHelp(false), children: "Close" })
      ] })
    ] })
  ] });
}
function Toggle({ on, onClick, children }) {
  return jsx7("button", { type: "button", class: "btn small", "aria-pressed": on, onClick, children });
}
function TokenForm() {
  const [token, setToken] = useState5("");
  const enter = () => {
    if (!(source instanceof ServerSource)) return;
    source.logInWith(token);
    problem.value = "";
    void start(source);
  };
  return jsxs6("form", { class: "hold-form", onSubmit: (event) => {
    event.preventDefault();
    enter();
  }, children: [
    jsxs6("label", { class: "filter-in", children: [
      jsx7("span", { children: "Token" }),
      jsx7("input", { type: "password", value: token, onInput: (event) => setToken(event.currentTarget.value), autocomplete: "off", "data-token": true })
    ] }),
    jsx7("button", { type: "submit", class: "btn small primary", children: "Open" })
  ] });
}
function Conversations() {
  const list2 = conversations.value;
  if (list2.length < 2) return null;
  const label = (started) => new Date(started * 1e3).toLocaleTimeString();
  return jsxs6("label", { class: "which", children: [
    jsx7("span", { class: "hide", children: "Conversation" }),
    jsx7("select", { value: about.value?.source ?? "", onChange: (event) => choose(event.currentTarget.value), "data-conversations": true, children: list2.map((each) => jsxs6("option", { value: each.id, children: [
      label(each.started),
      " ",
      each.name
    ] }, each.id)) })
  ] });
}
function Bar2() {
  const told = about.value;
  const agent = told?.header.agent ?? {};
  const name2 = agent.command?.map((word) => word.slice(word.lastIndexOf("/") + 1)).join(" ") ?? agent.url ?? agent.name ?? "";
  return jsxs6("header", { class: "bar", children: [
    jsxs6("span", { class: "brand", children: [
      jsx7(Icon, { name: "logo", size: 18 }),
      "acpella"
    ] }),
    chat.value && jsx7("a", { class: "btn quiet chat-link", href: "/", children: "Conversation" }),
    jsx7("span", { class: "sep" }),
    jsx7("h1", { class: "cut", children: jsx7(Visible, { text: name2 || told?.name || "Inspector" }) }),
    told !== null && (told.live ? jsx7("span", { class: "badge run", children: paused.value ? "paused" : "live" }) : jsx7("span", { class: "badge", children: "recorded" })),
    jsx7(Conversations, {}),
    jsx7("span", { class: "grow" }),
    told?.can_hold && jsx7("button", { type: "button", class: "btn quiet", "aria-pressed": setting.value || rule.value !== null, onClick: () => setting.value = !setting.value, "data-hold": true, children: "Hold" }),
    told?.live && jsx7("button", { type: "button", class: "btn quiet", "aria-pressed": paused.value, onClick: () => paused.value = !paused.value, children: paused.value ? "Go on" : "Pause" }),
    canSave() && jsxs6("button", { type: "button", class: "btn", onClick: save, children: [
      jsx7(Icon, { name: "save", size: 14 }),
      " Save"
    ] }),
    jsx7(IconButton, { icon: "theme", label: "Light or dark", onClick: flipTheme })
  ] });
}
function flipTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("acpella.theme", root.dataset.theme);
}
function Foot({ onHelp }) {
  const stats = times.value?.stats;
  const told = about.value;
  return jsxs6("footer", { class: "status-row", children: [
    jsxs6("span", { children: [
      rows.length,
      " rows, ",
      shown.value.length,
      " shown"
    ] }),
    stats && jsxs6(Fragment5, { children: [
      jsxs6("span", { children: [
        stats.frames,
        " frames"
      ] }),
      jsxs6("span", { children: [
        stats.dropped,
        " dropped"
      ] }),
      jsxs6("span", { children: [
        stats.hidden,
        " values hidden"
      ] }),
      jsx7("span", { children: bytes(stats.bytes) }),
      jsxs6("span", { children: [
        stats.sessions,
        " ",
        stats.sessions === 1 ? "session" : "sessions"
      ] })
    ] }),
    (told?.left_out ?? 0) > 0 && jsxs6("span", { class: "warned", children: [
      told.left_out,
      " rows more; `acpella inspect FILE --rows` shows all"
    ] }),
    jsxs6("button", { type: "button", class: "end linkish", onClick: onHelp, children: [
      jsx7("kbd", { children: "?" }),
      " keys"
    ] })
  ] });
}

// src/inspect.tsx
import { jsx as jsx8 } from "./libraries-c0a40985b0.js";
render(jsx8(InspectorPage, {}), document.getElementById("app"));
var embedded = document.getElementById("recording")?.textContent;
if (embedded) void start(new EmbeddedSource(embedded));
else {
  const server = new ServerSource();
  server.logIn().then(() => start(server), (error) => problem.value = String(error instanceof Error ? error.message : error));
}
