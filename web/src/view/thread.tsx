// The conversation: prose without a box, everything else a line until it matters.
import { Component, useEffect, useLayoutEffect, useRef, useState, type ComponentChildren } from "../libraries";
import { changesOf } from "../fold/changes";
import { textOf } from "../fold/fold";
import type { Conversation, Item, PromptItem, TextItem, ToolItem } from "../fold/model";
import { connection, entries, may, open as openSession, prompt, type Talk } from "../store";
import { amount, clock, day, duration, shortPath } from "../text/times";
import { plain } from "../text/visible";
import { asNumber, asObj, asText } from "../wire/types";
import { ContentBlock, Raw } from "./content";
import { Icon } from "./icons";
import { Markdown } from "./markdown";
import { Avatar, CopyButton, StateGlyph, Visible, useNow } from "./parts";
import { PlusMinus, ToolCard } from "./tool";

const TURNS_SHOWN = 50;
const FOLDED = ["read", "search"];

type Group = { kind: "group"; key: string; calls: ToolItem[]; version: number; at: number };
type Shown = Item | Group;

/** Consecutive reads and searches are one line. */
function grouped(items: Item[]): Shown[] {
  const shown: Shown[] = [];
  for (const [at, item] of items.entries()) {
    if (item.kind === "gone" && items[at + 1]?.kind === "error") continue; // the prompt that failed tells of it
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

export function Thread({ talk, onReview }: { talk: Talk; onReview: () => void }) {
  talk.version.value;
  const conversation = talk.conversation;
  const log = useRef<HTMLDivElement>(null);
  const [turns, setTurns] = useState(TURNS_SHOWN);
  const [below, setBelow] = useState(false);
  const stuck = useRef(true);
  const seen = useRef(0);
  const moved = useRef(0);
  const cwd = entries.value.get(talk.id)?.cwd ?? connection.welcome.value?.cwd ?? "";

  const atEnd = (): boolean => {
    const box = log.current!;
    return box.scrollHeight - box.scrollTop - box.clientHeight < 48;
  };
  const noteMove = (event: Event): void => {
    moved.current = event.timeStamp;
  };
  const toEnd = (): void => {
    const box = log.current!;
    box.scrollTop = box.scrollHeight;
    stuck.current = true;
    setBelow(false);
  };
  useLayoutEffect(() => {
    stuck.current = true;
    toEnd();
  }, [talk]);
  useLayoutEffect(() => {
    if (stuck.current) {
      const box = log.current!;
      box.scrollTop = box.scrollHeight;
      seen.current = conversation.items.length;
    } else if (!below && conversation.items.length > seen.current) setBelow(true);
  });
  useEffect(() => {
    // what grows later, such as a picture or code in colour, must not push the end away
    const watch = new ResizeObserver(() => {
      if (stuck.current && log.current !== null) log.current.scrollTop = log.current.scrollHeight;
    });
    watch.observe(log.current!.firstElementChild!);
    return () => watch.disconnect();
  }, [talk]);

  const starts = conversation.items.flatMap((item, index) => (item.kind === "prompt" ? [index] : []));
  const first = starts.length > turns ? starts[starts.length - turns]! : 0;
  const shown = grouped(conversation.items.slice(first));
  let date = "";
  return (
    <div class="log-box">
      <div
        class="log"
        role="log"
        aria-label="Conversation"
        aria-busy={conversation.turn !== null}
        tabIndex={0}
        ref={log}
        onWheel={noteMove}
        onTouchMove={noteMove}
        onKeyDown={noteMove}
        onPointerDown={noteMove}
        onScroll={(event) => {
          // only a person leaves the end: heights that change while something is drawn do not count
          if (atEnd()) {
            stuck.current = true;
            setBelow(false);
          } else if (event.timeStamp - moved.current < 1000) stuck.current = false;
        }}
      >
        <div class="thread">
          {first > 0 && <button type="button" class="btn earlier" onClick={() => setTurns(turns + TURNS_SHOWN)}>{`Earlier: ${starts.length - turns} more turns`}</button>}
          {talk.loading.value && conversation.items.length === 0 && <p class="dim loading"><StateGlyph state="running" /> Loading the session</p>}
          {talk.failure.value !== "" && <article class="note-card err"><header><Icon name="alert" /><span>This session cannot be opened</span></header><p>{plain(talk.failure.value)}</p><footer><button type="button" class="btn" onClick={() => void openSession(talk.id)}>Try again</button></footer></article>}
          {shown.map((item) => {
            const today = day(item.at);
            const separator = item.kind === "prompt" && today !== date ? <div class="day" key={`d${item.key}`}>{(date = today)}</div> : null;
            return [separator, <Entry key={item.key} item={item} version={item.version} conversation={conversation} cwd={cwd} onReview={onReview} />];
          })}
          {conversation.turn !== null && <Working conversation={conversation} />}
        </div>
      </div>
      {below && <button type="button" class="btn pill-new" onClick={toEnd}><Icon name="down" size={12} />New below</button>}
    </div>
  );
}

/** Shows that a turn is running, or waits for an answer, in a place that does not move. */
function Working({ conversation }: { conversation: Conversation }) {
  const now = useNow(1000);
  const last = conversation.items.at(-1);
  const speaks = last !== undefined && last.kind === "text" && now - last.until < 1500;
  const since = conversation.turn?.since ?? now;
  if (conversation.questions.size > 0) return <p class="working"><StateGlyph state="waiting" /><span>Waits for an answer</span></p>;
  return <p class="working"><StateGlyph state="running" /><span>{speaks ? "Writing" : "Working"}</span><span class="num">{Math.max(0, Math.round((now - since) / 1000))} s</span></p>;
}

interface EntryProps {
  item: Shown;
  version: number;
  conversation: Conversation;
  cwd: string;
  onReview: () => void;
}

class Entry extends Component<EntryProps> {
  override shouldComponentUpdate(next: EntryProps): boolean {
    return next.version !== this.props.version || next.item.kind !== this.props.item.kind || (next.item.kind === "group" && next.item !== this.props.item) || next.cwd !== this.props.cwd || next.conversation !== this.props.conversation;
  }

  override render({ item, conversation, cwd, onReview }: EntryProps): ComponentChildren {
    switch (item.kind) {
      case "prompt":
        return <PromptEntry item={item} />;
      case "text":
        return <div class="prose says"><Markdown text={item.text} done={item.done} /></div>;
      case "thought":
        return <Thought item={item} />;
      case "media":
        return <ContentBlock block={item.block} />;
      case "tool":
        return <ToolCard call={item} version={item.version} cwd={cwd} terminals={conversation.terminals} />;
      case "group":
        return <GroupEntry group={item} conversation={conversation} cwd={cwd} />;
      case "end":
        return <EndEntry item={item} conversation={conversation} onReview={onReview} />;
      case "error":
        return <ErrorEntry item={item} items={conversation.items} />;
      case "gone":
        return <GoneEntry item={item} />;
      case "unknown":
        return <article class="note-card unknown"><header><Icon name="code" /><span class="mono">{plain(item.name)}</span><span class="grow" /><span class="badge line">not known to v1</span></header><Raw value={item.raw} /></article>;
      case "notice":
        return <p class={`note${item.severity === "info" ? "" : " warn"}`}><Icon name="alert" size={14} /><span><b>{plain(item.title)}</b> {plain(item.text)}</span></p>;
      case "note":
        return <p class="dim note-line">{plain(item.text)}</p>;
    }
  }
}

function PromptEntry({ item }: { item: PromptItem }) {
  const name = plain(item.by) || "You";
  const text = item.blocks.filter((block) => block.type === "text");
  const others = item.blocks.filter((block) => block.type !== "text");
  return (
    <article class="ask-msg">
      <div class="by"><Avatar name={name} /><b>{name}</b><time dateTime={new Date(item.at).toISOString()}>{clock(item.at)}</time></div>
      {text.map((block, index) => <div key={index} class="prose said"><Mentions text={asText(block.raw.text)} /></div>)}
      {others.length > 0 && <div class="attach">{others.map((block, index) => <ContentBlock key={index} block={block} />)}</div>}
    </article>
  );
}

function Mentions({ text }: { text: string }) {
  const pieces = text.split(/((?:^|(?<=\s))@[^\s,;:!?)]+)/);
  return <p>{pieces.map((piece, index) => (piece.startsWith("@") && piece.length > 1 ? <span key={index} class="mention">{plain(piece)}</span> : <Visible key={index} text={piece} />))}</p>;
}

function Thought({ item }: { item: TextItem }) {
  const [open, setOpen] = useState(false);
  const now = useNow(500, !item.done);
  const ms = (item.done ? item.until : now) - item.at;
  const took = ms < 95 ? "" : ` for ${duration(ms)}`;
  return (
    <details class="fold thought" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary><Icon name="chevron" size={12} class="chev" /><span>{item.done ? "Thought" : "Thinking"}{took}</span></summary>
      {open && <div class="thought-text prose"><Markdown text={item.text} done={item.done} /></div>}
    </details>
  );
}

function GroupEntry({ group, conversation, cwd }: { group: Group; conversation: Conversation; cwd: string }) {
  const [open, setOpen] = useState(false);
  const reads = group.calls.filter((call) => call.tool === "read");
  const searches = group.calls.length - reads.length;
  const names = [...new Set(reads.map((call) => shortPath(asText(call.locations[0]?.path), cwd).split("/").at(-1) ?? ""))].filter((name) => name !== "");
  const files = names.length || reads.length;
  const words = [reads.length > 0 ? `Read ${files} ${files === 1 ? "file" : "files"}` : "", searches > 0 ? `${reads.length > 0 ? "searched" : "Searched"} ${searches === 1 ? "once" : `${searches} times`}` : ""].filter((one) => one !== "");
  const took = Math.max(...group.calls.map((call) => call.until)) - group.at;
  return (
    <details class="fold" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="chevron" size={12} class="chev" />
        <span class="cut">{words.join(", ")} <span class="mono">{plain(names.join(", "))}</span></span>
        <span class="tool-end num">{duration(took)}</span>
      </summary>
      {open && <div class="group-list">{group.calls.map((call) => <ToolCard key={call.key} call={call} version={call.version} cwd={cwd} terminals={conversation.terminals} compact />)}</div>}
    </details>
  );
}

type GoneItem = Extract<Item, { kind: "gone" }>;
type ErrorItem = Extract<Item, { kind: "error" }>;

/** Programs are named without their directories. */
export const causeOf = (reason: string): string => plain(reason).replace(/^the agent is gone: /, "").replace(/(^|\s)\/\S*\/(?=\S)/g, "$1").replace(/SIGKILL$/, "SIGKILL (was memory short?)");

function GoneEntry({ item, children }: { item: GoneItem; children?: ComponentChildren }) {
  const capabilities = connection.welcome.value?.agentCapabilities ?? {};
  const opensAgain = capabilities.loadSession === true || asObj(capabilities.sessionCapabilities).resume !== undefined;
  return (
    <article class="note-card err">
      <header><Icon name="alert" /><span>The agent stopped: {causeOf(item.reason)}</span></header>
      <p>{opensAgain ? "The conversation is kept. The next prompt starts the agent again, in the same session." : "This agent cannot open a session again. What was said can be read here; go on in a new session."}</p>
      {item.stderr !== "" && <details class="fold inset"><summary><Icon name="chevron" size={12} class="chev" />Its last lines</summary><pre class="raw" tabIndex={0}>{item.stderr}</pre></details>}
      {opensAgain && children}
    </article>
  );
}

/** A prompt that failed, and why: if the agent died of it, that is said once. */
function ErrorEntry({ item, items }: { item: ErrorItem; items: Item[] }) {
  const at = items.indexOf(item);
  const asked = items.slice(0, at).findLast((one) => one.kind === "prompt");
  const again = asked?.kind === "prompt" && may("prompt") && (
    <footer><button type="button" class="btn small" onClick={() => void prompt(asked.blocks.map((one) => one.raw))}><Icon name="retry" size={14} />Send it again</button></footer>
  );
  const before = items[at - 1];
  if (before?.kind === "gone") return <GoneEntry item={before}>{again}</GoneEntry>;
  return (
    <article class="note-card err">
      <header><Icon name="cross" /><span>The prompt failed</span><span class="grow" /><span class="badge err">{item.code}</span></header>
      <p>{plain(item.message)}{typeof item.data === "string" && `: ${plain(item.data)}`}</p>
      {item.data !== null && typeof item.data !== "string" && <Raw value={item.data} />}
      {again}
    </article>
  );
}

const STOPS: Record<string, string> = { cancelled: "stopped", max_tokens: "the answer was too long", max_turn_requests: "too many steps", refusal: "refused" };

function EndEntry({ item, conversation, onReview }: { item: Extract<Item, { kind: "end" }>; conversation: Conversation; onReview: () => void }) {
  const index = conversation.items.indexOf(item);
  let start = index;
  while (start > 0 && conversation.items[start]!.kind !== "prompt") start--;
  const turn = conversation.items.slice(start, index);
  const changes = changesOf(turn);
  const tokens = asNumber(item.usage.totalTokens);
  return (
    <footer class="turn-end">
      {item.stop !== "end_turn" && <span class="badge warn">{STOPS[item.stop] ?? plain(item.stop)}</span>}
      <span class="num">{duration(item.ms)}</span>
      {item.calls > 0 && <span class="num">{item.calls} tool {item.calls === 1 ? "call" : "calls"}</span>}
      {tokens !== null && <span class="num">{amount(tokens)} tokens</span>}
      <span class="grow" />
      {changes.length > 0 && (
        <button type="button" class="btn small" onClick={onReview}>
          {changes.length} {changes.length === 1 ? "file" : "files"} <PlusMinus added={changes.reduce((sum, one) => sum + one.added, 0)} removed={changes.reduce((sum, one) => sum + one.removed, 0)} />
        </button>
      )}
      <CopyButton text={() => textOf(turn)} label="Copy the answer" />
    </footer>
  );
}
