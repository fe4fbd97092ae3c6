// The inspector: filter, where the time went, rows, one message.
import { useEffect, useRef, useState, type ComponentChildren, type RefObject } from "../libraries";
import { Icon } from "../view/icons";
import { IconButton, Visible } from "../view/parts";
import { Detail } from "./detail";
import { List } from "./list";
import { rule, setting } from "./hold";
import { Holding } from "./holding";
import { about, canSave, chat, choose, conversations, draft, filter, folding, hasWord, lockedOut, pairOf, paused, problem, rows, save, select, selected, setFilter, settle, settled, shown, source, start, step, times, toggleWord } from "./state";
import { ServerSource } from "./sources";
import { Waterfall } from "./waterfall";
import { bytes } from "./words";

const KEYS: [string, string][] = [
  ["j  k", "next and previous row"], ["[  ]", "request and answer"], ["f  /", "filter"], ["g  G", "first and last row"],
  ["z", "fold streams"], ["p", "pause"], ["h", "hold messages"], ["Esc", "close the message"], ["?", "these keys"],
];

export function InspectorPage() {
  const [help, setHelp] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof HTMLTextAreaElement || event.target instanceof HTMLSelectElement) return;
      if (event.target instanceof HTMLInputElement) {
        if (event.target.form !== null) return;
        if (event.key === "Escape") event.target.blur();
        return;
      }
      const act: Record<string, () => void> = {
        j: () => step(1), k: () => step(-1), f: () => input.current?.focus(), "/": () => input.current?.focus(), z: () => (folding.value = !folding.value),
        "[": () => void select(pairOf(selected.value) || selected.value), "]": () => void select(pairOf(selected.value) || selected.value),
        g: () => void select(shown.value[0]?.row.n ?? 0), G: () => void select(shown.value.at(-1)?.row.n ?? 0),
        p: () => (paused.value = !paused.value), h: () => (setting.value = about.value?.can_hold === true && !setting.value), "?": () => setHelp((open) => !open),
        Escape: () => (help ? setHelp(false) : void select(0)),
        ArrowDown: () => step(1), ArrowUp: () => step(-1),
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
  return (
    <div class={chat.value ? "with-chat" : "alone"}>
    {chat.value && <iframe class="chat-frame" src="/" title="Conversation" data-chat />}
    <main class={`insp${selected.value > 0 || count > 0 ? " with-detail" : ""}`}>
      <Bar />
      <div class="notices">
        {problem.value !== "" && <p class="banner err" role="alert">{problem.value}</p>}
        {lockedOut.value && <TokenForm />}
        <Holding />
      </div>
      <div class="filter">
        <FilterInput input={input} wrong={error !== ""} />
        <Toggle on={hasWord("bad:")} onClick={() => toggleWord("bad:")}><Icon name="alert" size={14} /> {count} {count === 1 ? "finding" : "findings"}</Toggle>
        <Toggle on={hasWord("ms>500")} onClick={() => toggleWord("ms>500")}>Slow <code class="dim">ms&gt;500</code></Toggle>
        <Toggle on={folding.value} onClick={() => (folding.value = !folding.value)}>Fold streams{folding.value && <Icon name="check" size={13} />}</Toggle>
        {error !== "" && <p class="filter-error" id="filter-error" role="alert">{error}</p>}
      </div>
      <Waterfall />
      <List />
      <Detail />
      <Foot onHelp={() => setHelp(true)} />
      {help && (
        <div class="keys-box" role="dialog" aria-label="Keys">
          <dl>{KEYS.map(([key, what]) => <div key={key}><dt>{key.split("  ").map((one) => <kbd key={one}>{one}</kbd>)}</dt><dd>{what}</dd></div>)}</dl>
          <button type="button" class="btn small" autofocus onClick={() => setHelp(false)}>Close</button>
        </div>
      )}
    </main>
    </div>
  );
}

/** What rows must fit: settled words as pieces that a click takes away, and the next one while it is typed. */
function FilterInput({ input, wrong }: { input: RefObject<HTMLInputElement | null>; wrong: boolean }) {
  const words = settled.value;
  const press = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && settle()) input.current?.blur();
    else if (event.key === "Backspace" && draft.value === "" && words.length > 0) {
      event.preventDefault(); // the piece becomes text again, whole
      setFilter(words.slice(0, -1), words.at(-1)!);
    }
  };
  const remove = (at: number): void => {
    setFilter(words.filter((_, index) => index !== at), draft.value);
    input.current?.focus();
  };
  return (
    <div class={`filter-in${wrong ? " wrong" : ""}`} onClick={(event) => event.target === event.currentTarget && input.current?.focus()}>
      <Icon name="search" size={14} /><label class="hide" for="filter">Filter</label>
      {words.map((word, index) => (
        <span key={`${index} ${word}`} class={`piece${word.startsWith("-") ? " not" : ""}`} data-piece>
          <span class="cut"><Visible text={word} /></span><IconButton icon="cross" size={11} label={`Remove ${word}`} onClick={() => remove(index)} />
        </span>
      ))}
      <input ref={input} id="filter" value={draft.value} onInput={(event) => setFilter(words, event.currentTarget.value)} onKeyDown={press} spellcheck={false} autocomplete="off" placeholder={words.length === 0 ? "method:fs/* -kind:ntf ms>500 bad: or any text" : ""} aria-invalid={wrong} aria-describedby="filter-error" data-filter />
      <kbd>f</kbd>
    </div>
  );
}

function Toggle({ on, onClick, children }: { on: boolean; onClick: () => void; children: ComponentChildren }) {
  return <button type="button" class="btn small" aria-pressed={on} onClick={onClick}>{children}</button>;
}

/** For a server whose people have tokens. */
function TokenForm() {
  const [token, setToken] = useState("");
  const enter = (): void => {
    if (!(source instanceof ServerSource)) return;
    source.logInWith(token);
    problem.value = "";
    void start(source);
  };
  return (
    <form class="hold-form" onSubmit={(event) => { event.preventDefault(); enter(); }}>
      <label class="filter-in"><span>Token</span><input type="password" value={token} onInput={(event) => setToken(event.currentTarget.value)} autocomplete="off" data-token /></label>
      <button type="submit" class="btn small primary">Open</button>
    </form>
  );
}

/** Which conversation is shown, where there are several. */
function Conversations() {
  const list = conversations.value;
  if (list.length < 2) return null;
  const label = (started: number): string => new Date(started * 1000).toLocaleTimeString();
  return (
    <label class="which"><span class="hide">Conversation</span>
      <select value={about.value?.source ?? ""} onChange={(event) => choose(event.currentTarget.value)} data-conversations>
        {list.map((each) => <option key={each.id} value={each.id}>{label(each.started)} {each.name}</option>)}
      </select>
    </label>
  );
}

function Bar() {
  const told = about.value;
  const agent = (told?.header.agent ?? {}) as { command?: string[]; name?: string; url?: string };
  // the directories of programs are in the first row; here they only take room
  const name = agent.command?.map((word) => word.slice(word.lastIndexOf("/") + 1)).join(" ") ?? agent.url ?? agent.name ?? "";
  return (
    <header class="bar">
      <span class="brand"><Icon name="logo" size={18} /><span class="word">acpella</span></span>
      {chat.value && <a class="btn quiet chat-link" href="/">Conversation</a>}
      <span class="sep" />
      <h1 class="cut"><Visible text={name || told?.name || "Inspector"} /></h1>
      {told !== null && (told.live ? <span class="badge run">{paused.value ? "paused" : "live"}</span> : <span class="badge">recorded</span>)}
      <Conversations />
      <span class="grow" />
      {told?.can_hold && <button type="button" class="btn quiet" aria-pressed={setting.value || rule.value !== null} onClick={() => (setting.value = !setting.value)} data-hold><Icon name="hand" size={15} />Hold</button>}
      {told?.live && <button type="button" class="btn quiet" aria-pressed={paused.value} onClick={() => (paused.value = !paused.value)}><Icon name={paused.value ? "chevron" : "pause"} size={15} />{paused.value ? "Go on" : "Pause"}</button>}
      {canSave() && <button type="button" class="btn" onClick={save}><Icon name="save" size={14} />Save</button>}
      <IconButton icon="theme" label="Light or dark" onClick={flipTheme} />
    </header>
  );
}

function flipTheme(): void {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("acpella.theme", root.dataset.theme);
}

function Foot({ onHelp }: { onHelp: () => void }) {
  const stats = times.value?.stats;
  const told = about.value;
  return (
    <footer class="status-row">
      <span data-counts>{rows.length} lines in {shown.value.length} rows</span>
      {stats && <><span>{bytes(stats.bytes)}</span><span>{stats.sessions} {stats.sessions === 1 ? "session" : "sessions"}</span><span class={stats.dropped > 0 ? "warned" : "only-wide"}>{stats.dropped} dropped</span><span class="only-wide">{stats.hidden} values hidden</span></>}
      {(told?.left_out ?? 0) > 0 && <span class="warned">{told!.left_out} rows more; `acpella inspect FILE --rows` shows all</span>}
      <span class="end only-wide"><kbd>j</kbd> <kbd>k</kbd> move</span>
      <span class="only-wide"><kbd>[</kbd> <kbd>]</kbd> pair</span>
      <button type="button" class="keys-of" onClick={onHelp}><kbd>?</kbd> keys</button>
    </footer>
  );
}
