// Holding messages: the strip that starts it, the red bar while it acts, and the messages that wait.
import { useEffect, useRef, useState } from "../libraries";
import { Icon } from "../view/icons";
import { Visible } from "../view/parts";
import { held, holdProblem, order, rule, setting } from "./hold";
import type { Held, Then } from "./model";
import { query } from "./state";

const FAULTS: [Then, string][] = [["hold", "hold it"], ["delay", "delay it"], ["drop", "drop it"], ["duplicate", "send it twice"], ["garble", "change a byte"]];
const DELAY = 2;

export function Holding() {
  const active = rule.value;
  if (!setting.value && active === null) return null;
  return (
    <section class="holding" aria-label="Hold and change messages" data-holding={active === null ? "off" : "on"}>
      {active === null ? <Start /> : <RedBar filter={active.filter} then={active.then} />}
      {holdProblem.value !== "" && <p class="filter-error" role="alert">{holdProblem.value}</p>}
      {held.value.length > 0 && <ul class="held">{held.value.slice(0, 50).map((each) => <Message key={each.n} held={each} />)}</ul>}
      {held.value.length > 50 && <p class="dim">{held.value.length - 50} more wait behind them.</p>}
    </section>
  );
}

function Start() {
  const [words, setWords] = useState(query.value || "method:session/request_permission");
  const [then, setThen] = useState<Then>("hold");
  const [seconds, setSeconds] = useState(DELAY);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.select(), []); // and the focus with it
  const start = async (): Promise<void> => {
    if (await order({ do: "start", filter: words, then, seconds })) setting.value = false;
  };
  return (
    <form class="hold-form" onSubmit={(event) => { event.preventDefault(); void start(); }}>
      <label class="filter-in"><span>When a message fits</span>
        <input ref={input} value={words} onInput={(event) => setWords(event.currentTarget.value)} spellcheck={false} autocomplete="off" placeholder="every message" data-hold-filter />
      </label>
      <label>then <select value={then} onChange={(event) => setThen(event.currentTarget.value as Then)}>{FAULTS.map(([name, text]) => <option key={name} value={name}>{text}</option>)}</select></label>
      {then === "delay" && <label>for <input type="number" min="0" max="600" step="0.5" value={seconds} onInput={(event) => setSeconds(Number(event.currentTarget.value))} /> s</label>}
      <button type="submit" class="btn small primary">Start</button>
      <button type="button" class="btn small" onClick={() => (setting.value = false)}>Cancel</button>
    </form>
  );
}

function RedBar({ filter, then }: { filter: string; then: Then }) {
  const text = FAULTS.find(([name]) => name === then)?.[1] ?? then;
  return (
    <div class="red-bar" role="status">
      <Icon name="alert" size={16} />
      <span class="grow"><b>This page changes the conversation.</b> When a message fits <code><Visible text={filter || "anything"} /></code>: {text}. {held.value.length} {held.value.length === 1 ? "waits" : "wait"}.</span>
      <button type="button" class="btn small" onClick={() => void order({ do: "stop" })} data-stop>Release all and stop</button>
    </div>
  );
}

function Message({ held: message }: { held: Held }) {
  const [editing, setEditing] = useState<"" | "edit" | "answer">("");
  const act = (how: string, more: object = {}): void => void order({ do: "act", n: message.n, how, ...more });
  const name = `${message.method || message.kind} ${message.n}`;
  return (
    <li class="held-one" data-held={message.n}>
      <p class="held-head">
        <span class={`to-${message.dir}`}><Icon name={message.dir === "out" ? "right" : "left"} size={12} /><span class="hide">{message.dir === "out" ? "to the agent" : "from the agent"}</span></span>
        <span class="kd">{message.kind}</span> <b class="cut"><Visible text={message.method ?? ""} /> {message.update && <span class="upd"><Visible text={message.update} /></span>}</b>
        <span class="pv cut"><Visible text={message.preview ?? ""} /></span>
      </p>
      <div class="held-acts" role="group" aria-label={name}>
        <button type="button" class="btn small primary" onClick={() => act("release")}>Release</button>
        {message.whole && <button type="button" class="btn small" aria-expanded={editing === "edit"} onClick={() => setEditing(editing === "edit" ? "" : "edit")}>Edit</button>}
        {message.kind === "req" && <button type="button" class="btn small" aria-expanded={editing === "answer"} onClick={() => setEditing(editing === "answer" ? "" : "answer")}>Answer</button>}
        <button type="button" class="btn small" onClick={() => act("delay", { seconds: DELAY })}>Delay {DELAY} s</button>
        <button type="button" class="btn small" onClick={() => act("duplicate")}>Twice</button>
        <button type="button" class="btn small" onClick={() => act("garble")}>Garble</button>
        <button type="button" class="btn small danger" onClick={() => act("drop")}>Drop</button>
      </div>
      {editing !== "" && <Editor key={editing} message={message} how={editing} onDone={() => setEditing("")} />}
    </li>
  );
}

function Editor({ message, how, onDone }: { message: Held; how: "edit" | "answer"; onDone: () => void }) {
  const [text, setText] = useState(how === "edit" ? pretty(message.text) : '{\n  "outcome": { "outcome": "cancelled" }\n}');
  const [wrong, setWrong] = useState("");
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => box.current?.focus(), []);
  const send = async (): Promise<void> => {
    if (how === "edit") {
      // what was not touched goes as the bytes it came in
      await order({ do: "act", n: message.n, how, text: text === pretty(message.text) ? message.text : text });
      return onDone();
    }
    try {
      const result: unknown = JSON.parse(text);
      await order({ do: "act", n: message.n, how, result });
      onDone();
    } catch (error) {
      setWrong(String(error instanceof Error ? error.message : error));
    }
  };
  let note = "";
  if (how === "edit") try { JSON.parse(text); } catch { note = "This is not JSON. It is sent as it stands."; }
  return (
    <form class="held-edit" onSubmit={(event) => { event.preventDefault(); void send(); }}>
      <label><span class="hide">{how === "edit" ? "The message" : "The result"}</span>
        <textarea ref={box} value={text} rows={Math.min(16, text.split("\n").length + 1)} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); void send(); } else if (event.key === "Escape") onDone(); }} data-editor />
      </label>
      {(note || wrong) && <p class="filter-error" role="alert">{wrong || note}</p>}
      <button type="submit" class="btn small primary">{how === "edit" ? "Send this instead" : "Send this as the result"}</button>
      <button type="button" class="btn small" onClick={onDone}>Cancel</button>
    </form>
  );
}

const UNSEEN = /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** JSON as a person edits it; characters that cannot be seen, or turn text around, are written as numbers. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  } catch {
    return text;
  }
}
