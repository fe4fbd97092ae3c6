// One message: as a tree with what the protocol says of each field, as text, and what is wrong with it.
import { useState } from "../libraries";
import { Icon } from "../view/icons";
import { CopyButton, Visible } from "../view/parts";
import type { Finding, Note } from "./model";
import { line, pairOf, rows, rules, select, selected, source, times } from "./state";
import { bytes } from "./words";

const OPEN_DEPTH = 4;
const LONG_TEXT = 2000;
const MANY = 200;

export function Detail() {
  const [tab, setTab] = useState<"tree" | "raw">("tree");
  const row = rows[selected.value - 1];
  const findings = times.value?.findings ?? [];
  if (!row) return <aside class="detail" aria-label="Findings"><Findings findings={findings} /></aside>;
  const pair = pairOf(row.n);
  const here = findings.filter((finding) => finding.rows.includes(row.n));
  const body = line.value === null ? undefined : bodyOf(line.value.line);
  return (
    <aside class="detail" aria-label={`Frame ${row.n}`} data-detail={row.n}>
      <header class="detail-head">
        <h2><span class="dim">{row.n}</span> <Visible text={row.method || row.kind} /> {row.update && <span class="badge accent"><Visible text={row.update} /></span>}</h2>
        <p class="num cut">{row.t.toFixed(3)} s{row.dir && <> · <Icon name={row.dir === "out" ? "right" : "left"} size={12} class={`to-${row.dir}`} /> {row.dir === "out" ? "to the agent" : "from the agent"}</>} · {bytes(row.size ?? 0)}{row.session && <span title={row.session}> · <Visible text={row.session} /></span>}</p>
      </header>
      <div class="detail-tabs">
        <span role="tablist" aria-label="Message as">
          <button type="button" role="tab" aria-selected={tab === "tree"} onClick={() => setTab("tree")}>Tree</button>
          <button type="button" role="tab" aria-selected={tab === "raw"} onClick={() => setTab("raw")}>Raw</button>
        </span>
        {pair > 0 && <button type="button" class="linkish" onClick={() => void select(pair)}>{row.kind === "req" ? "Answer" : "Request"} {pair}</button>}
        <span class="grow" />
        <CopyButton text={() => JSON.stringify(body, null, 2)} label="Copy as JSON" />
        <CopyAs kind="python" n={row.n} /><CopyAs kind="pytest" n={row.n} />
      </div>
      <div class="detail-scroll" tabIndex={0} role="region" aria-label="Message">
        {body === undefined ? <p class="nothing dim">Reading…</p>
          : tab === "raw" ? <pre class="raw"><Visible text={JSON.stringify(body, null, 2)} /></pre>
          : <Tree value={body} notes={notesOf(line.value?.notes ?? [])} />}
      </div>
      {(here.length > 0 || (rules.get(row.n)?.length ?? 0) > 0) && <Findings findings={here} />}
    </aside>
  );
}

/** The conversation up to this message, as something to run. */
function CopyAs({ kind, n }: { kind: "python" | "pytest"; n: number }) {
  const [word, setWord] = useState("");
  const copy = async (): Promise<void> => {
    try {
      const text = await source.copy(kind, n);
      await navigator.clipboard.writeText(text);
      setWord(text === "" ? "nothing to copy" : "copied");
    } catch (error) {
      setWord(error instanceof Error ? error.message : String(error));
    }
    setTimeout(() => setWord(""), 3000);
  };
  return <button type="button" class="linkish" title={`Copy the conversation up to here as ${kind === "pytest" ? "a test" : "a program"}`} onClick={() => void copy()} data-copy={kind}>{word || (kind === "python" ? "Python" : "pytest")}</button>;
}

function bodyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const entry = value as Record<string, unknown>;
  return entry.msg ?? entry.text ?? entry.b64 ?? entry;
}

const notesOf = (notes: readonly Note[]): Map<string, Note> => new Map(notes.map((note) => [note.path, note]));

function Tree({ value, notes }: { value: unknown; notes: Map<string, Note> }) {
  return <div class="tree">{members(value).map(([name, entry]) => <Branch key={name} name={name} value={entry} path={name} depth={1} notes={notes} />)}</div>;
}

function members(value: unknown): [string, unknown][] {
  if (typeof value !== "object" || value === null) return [["", value]];
  return Object.entries(value);
}

function Branch({ name, value, path, depth, notes }: { name: string; value: unknown; path: string; depth: number; notes: Map<string, Note> }) {
  const nested = typeof value === "object" && value !== null;
  const entries = nested ? Object.entries(value) : [];
  const [open, setOpen] = useState(depth < OPEN_DEPTH && entries.length <= 50 && name !== "_meta" && name !== "rawInput");
  const [explained, setExplained] = useState(false);
  const note = notes.get(path);
  const list = Array.isArray(value);
  const indent = `d${Math.min(depth, 8)}`;
  return (
    <>
      <div class={`tr ${indent}${note?.unknown ? " unknown" : ""}`}>
        {nested && entries.length > 0
          ? <button type="button" class={`fold${open ? " open" : ""}`} aria-expanded={open} aria-label={`${open ? "Close" : "Open"} ${name}`} onClick={() => setOpen(!open)}><Icon name="chevron" size={12} /></button>
          : <span class="fold" />}
        <button type="button" class="key" disabled={!note} aria-expanded={note ? explained : undefined} onClick={() => setExplained(!explained)}><Visible text={name} /></button>
        <span class="val">{nested ? <span class="dim">{list ? `${entries.length} ${entries.length === 1 ? "item" : "items"}` : open ? "" : <Visible text={`{ ${entries.map(([key]) => key).slice(0, 4).join(", ")} }`} />}</span> : <Leaf value={value} />}</span>
        {(note?.unknown || name === "_meta") && <span class="badge line">ext</span>}
      </div>
      {explained && note && <p class={`help ${indent}`}>{note.text}{note.type && <span class="dim"> {note.type}</span>}</p>}
      {open && entries.slice(0, MANY).map(([key, entry]) => <Branch key={key} name={key} value={entry} path={list ? `${path}[]` : `${path}.${key}`} depth={depth + 1} notes={notes} />)}
      {open && entries.length > MANY && <p class={`help ${indent}`}>{entries.length - MANY} more stand in Raw</p>}
    </>
  );
}

function Leaf({ value }: { value: unknown }) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== "string") return <span class={typeof value === "number" ? "n" : "w"}>{String(value)}</span>;
  const text = whole ? value : value.slice(0, LONG_TEXT);
  return <span class="s">"<Visible text={text} />"{text.length < value.length && <button type="button" class="linkish" onClick={() => setWhole(true)}>all {value.length} characters</button>}</span>;
}

export function Findings({ findings }: { findings: readonly Finding[] }) {
  const total = times.value?.finding_count ?? findings.length;
  const Heading = selected.value === 0 ? "h2" : "h3";
  return (
    <section class="finds" aria-label="Findings" tabIndex={0}>
      <Heading>Findings {findings.length > 0 ? <span class="badge err">{selected.value === 0 ? total : findings.length}</span> : <span class="badge ok">none</span>}</Heading>
      {findings.slice(0, 100).map((finding, index) => (
        <article class={`find ${finding.level === "must" || finding.level === "capability" ? "e" : "w"}`} key={index}>
          <Icon name={finding.level === "must" || finding.level === "capability" ? "cross" : "alert"} size={14} />
          <div>
            <b><Visible text={finding.text} /></b>
            <p>{finding.sentence}</p>
            <p class="meta"><span class="badge">{finding.rule}</span> <code>{finding.requirement}</code> <span class="dim">{finding.side}</span>
              {finding.rows.map((n) => <button type="button" class="linkish" key={n} onClick={() => void select(n)}>{n}</button>)}
            </p>
          </div>
        </article>
      ))}
    </section>
  );
}
