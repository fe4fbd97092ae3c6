// The rows, of which only those in sight are in the page.
import { useEffect, useRef, useState } from "../libraries";
import { Icon } from "../view/icons";
import { Visible } from "../view/parts";
import { about, answers, rules, select, selected, sessionNumber, shown, unfold, type Shown } from "./state";
import { bytes, seconds } from "./words";

const narrow = matchMedia("(max-width: 760px)");
const MORE = 12;
const SLOW = 1;
const KINDS: Record<string, string> = { req: "req", ntf: "ntf", res: "res", err: "err", text: "std", stderr: "log", event: "sys" };

export function List() {
  const list = shown.value;
  const HEIGHT = narrow.matches ? 32 : 24; // as in the style sheet: fingers need more than a pointer
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const atEnd = useRef(true);
  useEffect(() => {
    const element = box.current!;
    const measure = (): void => {
      atEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - 24;
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
  useEffect(() => {
    // who reads at the end sees what comes; who reads above stays there
    if (about.value?.live && atEnd.current && selected.value === 0) box.current!.scrollTop = box.current!.scrollHeight;
  }, [list.length]);
  useEffect(() => {
    const at = list.findIndex((each) => each.row.n <= selected.value && selected.value <= each.last.n);
    const element = box.current!;
    const head = HEIGHT;
    if (at < 0) return;
    const top = at * HEIGHT - element.scrollTop;
    const below = top + HEIGHT + head - element.clientHeight;
    // a step moves the list by a step; after a jump the row stands in the middle
    if (top < -2 * HEIGHT || below > 2 * HEIGHT) element.scrollTop += top - element.clientHeight / 2 + HEIGHT;
    else if (top < 0) element.scrollTop += top;
    else if (below > 0) element.scrollTop += below;
  }, [selected.value]);
  const first = Math.max(0, Math.floor(view.top / HEIGHT) - MORE);
  const last = Math.min(list.length, Math.ceil((view.top + view.height) / HEIGHT) + MORE);
  return (
    <div class="frames" role="grid" aria-rowcount={list.length} aria-label="Frames" tabIndex={0} ref={box} data-list>
      <div class="fr head" role="row">
        {["#", "time", "Δ", "", "kind", "method", "preview", "size", "took"].map((word, index) => <span key={index} role="columnheader">{word || <span class="hide">direction</span>}</span>)}
      </div>
      <svg class="space" height={first * HEIGHT} width="1" aria-hidden="true" />
      {/* a place in sight keeps its element, whichever row it shows: making new ones is what scrolling costs */}
      {list.slice(first, last).map((each, index) => <Line key={index} shown={each} before={list[first + index - 1]} at={first + index} />)}
      <svg class="space" height={(list.length - last) * HEIGHT} width="1" aria-hidden="true" />
      {list.length === 0 && <p class="nothing dim">{about.value === null ? "Reading…" : about.value.total === 0 ? "Nothing was said yet." : "No row fits the filter."}</p>}
    </div>
  );
}

function Line({ shown: { row, count, size, last, preview }, before, at }: { shown: Shown; before: Shown | undefined; at: number }) {
  const broken = rules.get(row.n) ?? [];
  const gap = before && before.row.c === row.c ? row.t - before.last.t : 0;
  const took = row.kind === "req" ? answers.get(row.n)?.took : count > 1 ? last.t - row.t : undefined;
  const current = row.n <= selected.value && selected.value <= last.n;
  const session = row.session === undefined ? "" : ` s${sessionNumber(row.session)}`;
  return (
    <div class={`fr k-${row.kind}${session}${broken.length > 0 ? " bad" : ""}`} role="row" aria-rowindex={at + 1} aria-selected={current} data-row={row.n} onClick={() => void select(row.n)} onDblClick={() => unfold(row.n)}>
      <span role="gridcell">{row.n}</span>
      <span role="gridcell">{row.kind === "event" && row.t === 0 ? "" : row.t.toFixed(3)}</span>
      <span role="gridcell" class={gap >= SLOW ? "slow" : ""}>{gap > 0 ? seconds(gap) : ""}</span>
      <span role="gridcell" class={`to-${row.dir ?? "none"}`}>{row.dir && <><Icon name={row.dir === "out" ? "right" : "left"} size={12} /><span class="hide">{row.dir === "out" ? "to the agent" : "from the agent"}</span></>}</span>
      <span role="gridcell"><span class={`kd ${KINDS[row.kind]}`}>{KINDS[row.kind]}</span></span>
      <span role="gridcell" class="m">
        <span class="cut"><span class={row.update && "of"}><Visible text={row.method || (row.kind === "text" ? "not a message" : row.kind === "stderr" ? "stderr" : "")} /> </span>
        {row.update && <span class="upd"><Visible text={row.update} /></span>}</span>
        {count > 1 && <button type="button" class="cnt" title="Show each piece" onClick={(event) => { event.stopPropagation(); unfold(row.n); }}>×{count}</button>}
        {row.method?.startsWith("_") && <span class="badge line">ext</span>}
      </span>
      <span role="gridcell" class="pv cut">
        {broken.length > 0 && <><Icon name="alert" size={12} /><span class="badge err">{broken[0]}</span> </>}
        <Visible text={preview} />
      </span>
      <span role="gridcell">{row.kind === "event" ? "" : bytes(size)}</span>
      <span role="gridcell" class={took !== undefined && took >= SLOW ? "slow" : ""}>{took !== undefined ? seconds(took) : row.kind === "req" ? <span class="dim">open</span> : ""}</span>
    </div>
  );
}
