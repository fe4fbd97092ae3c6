// A change of a file, unified or side by side.
import { diffWordsWithSpace, useMemo, useState } from "../libraries";
import { compareLines } from "../fold/lines";
import type { Piece } from "../highlighter";
import { highlighter, languageOf, pieceLines, Pieces } from "./code";

const CONTEXT = 3;
const MOST_SHOWN = 400;
/** Lines in which the words that changed are looked for. */
const MOST_MARKED = 400;

type Row = { kind: "same" | "add" | "del"; text: string; before: number | null; after: number | null; marks: [number, number][] };
type Gap = { kind: "gap"; count: number; key: number; rows: Row[] };

function rowsOf(before: string, after: string): Row[] {
  const rows: Row[] = [];
  let b = 1;
  let a = 1;
  for (const { kind, lines } of compareLines(before, after)) {
    for (const line of lines) {
      rows.push({ kind, text: line.replace(/\n$/, ""), before: kind === "add" ? null : b++, after: kind === "del" ? null : a++, marks: [] });
    }
  }
  markWords(rows);
  return rows;
}

/** The words that changed in lines that stand against each other. */
function markWords(rows: Row[]): void {
  let left = MOST_MARKED;
  for (let at = 0; at < rows.length && left > 0; at++) {
    if (rows[at]!.kind !== "del") continue;
    let end = at;
    while (rows[end]?.kind === "del") end++;
    let last = end;
    while (rows[last]?.kind === "add") last++;
    const pairs = Math.min(end - at, last - end);
    for (let n = 0; n < pairs && left-- > 0; n++) {
      // pair the last lines of both: they are most alike when new lines were added before them
      const removed = rows[end - pairs + n]!;
      const added = rows[last - pairs + n]!;
      if (removed.text.length + added.text.length > 2000) continue;
      const words = diffWordsWithSpace(removed.text, added.text);
      const same = words.filter((one) => !one.added && !one.removed).reduce((sum, one) => sum + one.value.trim().length, 0);
      if (same * 2 < Math.min(removed.text.trim().length, added.text.trim().length)) continue; // another line, not a changed one
      let r = 0;
      let a = 0;
      for (const one of words) {
        if (one.removed) removed.marks.push([r, (r += one.value.length)]);
        else if (one.added) added.marks.push([a, (a += one.value.length)]);
        else {
          r += one.value.length;
          a += one.value.length;
        }
      }
      removed.marks = joined(removed);
      added.marks = joined(added);
    }
    at = last - 1;
  }
}

/** Marks with hardly anything between them are one; blanks at the ends of one mean nothing. */
function joined({ text, marks }: Row): [number, number][] {
  const found: [number, number][] = [];
  for (const mark of marks) {
    const last = found.at(-1);
    if (last !== undefined && mark[0] - last[1] <= 2) last[1] = mark[1];
    else found.push(mark);
  }
  for (const mark of found) {
    while (mark[0] < mark[1] && text[mark[0]] === " ") mark[0]++;
    while (mark[0] < mark[1] && text[mark[1] - 1] === " ") mark[1]--;
  }
  return found.filter(([start, end]) => start < end);
}

function folded(rows: Row[]): (Row | Gap)[] {
  const shown: (Row | Gap)[] = [];
  let run: Row[] = [];
  const flush = (atEnd: boolean): void => {
    const first = shown.length === 0;
    const head = first ? 0 : CONTEXT;
    const tail = atEnd ? 0 : CONTEXT;
    if (run.length > head + tail + 1) {
      shown.push(...run.slice(0, head), { kind: "gap", count: run.length - head - tail, key: run[head]!.before ?? 0, rows: run.slice(head, run.length - tail) }, ...run.slice(run.length - tail));
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

export function Diff({ path, before, after, sides, whole = false }: { path: string; before: string; after: string; sides: boolean; whole?: boolean }) {
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const [all, setAll] = useState(whole);
  const rows = useMemo(() => rowsOf(before, after), [before, after]);
  const language = languageOf(path);
  const colours = useMemo(() => ({ before: pieceLines(before, language), after: pieceLines(after, language) }), [before, after, language, highlighter() !== null]);
  let shown = folded(rows).flatMap((row) => (row.kind === "gap" && opened.has(row.key) ? row.rows : [row]));
  const hidden = all ? 0 : Math.max(0, shown.length - MOST_SHOWN);
  if (hidden > 0) shown = shown.slice(0, MOST_SHOWN);
  const open = (key: number): void => setOpened(new Set([...opened, key]));
  const text = (row: Row): Piece[] => marked((row.kind === "del" ? colours.before[(row.before ?? 1) - 1] : colours.after[(row.after ?? 1) - 1]) ?? [{ text: row.text, kind: "" }], row.marks);
  return (
    <div class="diff-wrap" tabIndex={0} role="region" aria-label={`Change of ${path}`}>
      <table class={sides ? "diff sides" : "diff"}>
        <tbody>{sides ? sideRows(shown, text, open) : shown.map((row, index) => <UnifiedRow key={index} row={row} text={text} open={open} />)}</tbody>
      </table>
      {hidden > 0 && <button type="button" class="linkish more-rows" onClick={() => setAll(true)}>{`Show ${hidden} more lines`}</button>}
    </div>
  );
}

type TextOf = (row: Row) => Piece[];

function GapRow({ gap, open, span }: { gap: Gap; open: (key: number) => void; span: number }) {
  return (
    <tr class="h">
      <td colSpan={span}>
        <button type="button" class="linkish" onClick={() => open(gap.key)}>{`${gap.count} equal ${gap.count === 1 ? "line" : "lines"}`}</button>
      </td>
    </tr>
  );
}

function UnifiedRow({ row, text, open }: { row: Row | Gap; text: TextOf; open: (key: number) => void }) {
  if (row.kind === "gap") return <GapRow gap={row} open={open} span={4} />;
  const sign = row.kind === "add" ? "+" : row.kind === "del" ? "−" : "";
  return (
    <tr class={row.kind === "add" ? "a" : row.kind === "del" ? "r" : undefined}>
      <td class="ln" data-n={row.before ?? ""} />
      <td class="ln" data-n={row.after ?? ""} />
      <td class="sg" data-s={sign}>{sign !== "" && <span class="hide">{sign === "+" ? "added" : "removed"}</span>}</td>
      <td class="tx"><Marked of={text(row)} /></td>
    </tr>
  );
}

function sideRows(rows: (Row | Gap)[], text: TextOf, open: (key: number) => void) {
  const made = [];
  for (let at = 0; at < rows.length; ) {
    const row = rows[at]!;
    if (row.kind === "gap") {
      made.push(<GapRow key={at} gap={row} open={open} span={4} />);
      at++;
    } else if (row.kind === "same") {
      made.push(<SideRow key={at} left={row} right={row} text={text} />);
      at++;
    } else {
      const start = at;
      const removed: Row[] = [];
      const added: Row[] = [];
      for (let one = rows[at]; one !== undefined && (one.kind === "del" || one.kind === "add"); one = rows[++at]) (one.kind === "del" ? removed : added).push(one);
      for (let n = 0; n < Math.max(removed.length, added.length); n++) made.push(<SideRow key={`${start}.${n}`} left={removed[n]} right={added[n]} text={text} />);
    }
  }
  return made;
}

function SideRow({ left, right, text }: { left: Row | undefined; right: Row | undefined; text: TextOf }) {
  const kind = (row: Row | undefined): string => (row === undefined ? "z" : row.kind === "del" ? "r" : row.kind === "add" ? "a" : "");
  return (
    <tr>
      <td class={`ln ${kind(left)}`} data-n={left?.before ?? ""} />
      <td class={`tx ${kind(left)}`}>{left !== undefined && <Marked of={text(left)} />}</td>
      <td class={`ln mid ${kind(right)}`} data-n={right?.after ?? ""} />
      <td class={`tx ${kind(right)}`}>{right !== undefined && <Marked of={text(right)} />}</td>
    </tr>
  );
}

/** Pieces cut where a changed word begins and ends; the changed ones have the kind with a `!`. */
function marked(of: Piece[], marks: [number, number][]): Piece[] {
  if (marks.length === 0) return of;
  const cut: Piece[] = [];
  let at = 0;
  for (const piece of of) {
    let text = piece.text;
    while (text !== "") {
      const mark = marks.find(([, end]) => end > at);
      const inside = mark !== undefined && mark[0] <= at;
      const until = mark === undefined ? text.length : (inside ? mark[1] : mark[0]) - at;
      const part = text.slice(0, Math.max(1, until));
      cut.push({ text: part, kind: inside ? `${piece.kind}!` : piece.kind });
      at += part.length;
      text = text.slice(part.length);
    }
  }
  return cut;
}

function Marked({ of }: { of: Piece[] }) {
  return <>{of.map((piece, index) => (piece.kind.endsWith("!") ? <mark key={index} class={piece.kind.slice(0, -1)}>{piece.text}</mark> : <Pieces key={index} of={[piece]} />))}{"\n"}</>;
}
