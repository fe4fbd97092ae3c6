// Who was waited for: a turn, its tools, a person, or the model. Stretches in which nothing happens are folded.
import { Icon } from "../view/icons";
import type { Span } from "./model";
import { select, selected, rows, times } from "./state";
import { seconds } from "./words";

const LANES = [["turn", "Turn"], ["tool", "Tool call"], ["person", "Waiting for a person"], ["silence", "Model silence"]] as const;
const TOP = 20;
const LANE = 20;
const BOTTOM = TOP + LANES.length * LANE;
/** A stretch between two turns is folded from this many seconds on, or earlier if the turns are short. */
const IDLE = 15;
/** What a folded stretch and a tick take of the width, in per cent. */
const FOLDED = 5;
const TICK = 7;
const LAST = 12;

export function Waterfall() {
  const told = times.value;
  if (told === null || told.turns.length === 0) return null;
  const turns = told.turns.slice(-LAST);
  const from = turns[0]!.turn;
  const spans = told.spans.filter((span) => (span.turn ?? 0) >= from);
  const end = told.stats.seconds;
  const scale = timeScale(spans, end);
  // the turn in which the selected message stands, or the latest one
  const turn = (selected.value > 0 ? turns.findLast((each) => each.row <= selected.value) : undefined) ?? turns.at(-1)!;
  const now = rows[selected.value - 1]?.t;
  return (
    <section class="wf" aria-label="Where the time went">
      <div class="wf-sum">
        <span><b>Turn {turn.turn}</b> {turn.total === null ? "goes on" : <>took <b>{seconds(turn.total)}</b></>}</span>
        <Key lane="turn" words="model writes" took={turn.writing} />
        <Key lane="person" words="person" took={turn.person} />
        <Key lane="silence" words="model silent" took={turn.silence} />
        <Key lane="tool" words="tools" took={turn.tools} />
        <span class="grow" />
        <Prompts />
      </div>
      <div class="wf-body">
        <ul class="wf-names">{LANES.map(([lane, name]) => <li key={lane}>{name}</li>)}</ul>
        <svg class="lanes" role="img" aria-label={turns.map((each) => `Turn ${each.turn}: ${each.total === null ? "goes on" : seconds(each.total)}`).join(", ")}>
          <pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatch" y2="5" /></pattern>
          {scale.ticks.map(({ x, words }) => <g key={x}><line class="tick" x1={percent(x)} x2={percent(x)} y1={TOP - 4} y2={BOTTOM} /><text class="when" x={percent(x)} y="11">{words}</text></g>)}
          {scale.gaps.map((gap) => (
            <g key={gap.x}>
              <rect class="idle" x={percent(gap.x)} width={percent(FOLDED)} y={TOP - 4} height={BOTTOM - TOP + 4} />
              <text class="gap" x={percent(gap.x + FOLDED / 2)} y={TOP + 2 * LANE + 4} text-anchor="middle">{seconds(gap.length)}</text>
            </g>
          ))}
          {spans.map((span, index) => <Bar key={index} span={span} next={spans.find((other) => other.lane === span.lane && other.start > span.start)} end={end} at={scale.at} />)}
          {now !== undefined && <line class="now" x1={percent(scale.at(now))} x2={percent(scale.at(now))} y1={TOP - 4} y2={BOTTOM} />}
        </svg>
      </div>
    </section>
  );
}

function Bar({ span, next, end, at }: { span: Span; next: Span | undefined; end: number; at: (time: number) => number }) {
  const top = TOP + 4 + LANES.findIndex(([name]) => name === span.lane) * LANE;
  const left = at(span.start);
  const width = Math.max(0.25, at(span.end ?? end) - left);
  const length = (span.end ?? end) - span.start;
  const took = span.end === undefined ? "goes on" : seconds(length);
  const words = `${span.label ?? ""} · ${took}`;
  const room = (next === undefined ? 100 : at(next.start)) - left - width;
  return (
    <g class="bar-of" onClick={() => void select(span.row)}>
      <rect class={`w-${span.lane}${span.bad ? " w-bad" : ""}`} x={percent(left)} y={top} width={percent(width)} height="12" rx="2.5"><title>{words}</title></rect>
      {span.lane !== "silence" && width > 5 && <svg x={percent(left)} y={top} width={percent(width)} height="12"><text class="in" x="5" y="9.5">{span.lane === "person" ? took : words}</text></svg>}
      {span.lane === "tool" && width <= 5 && room > TICK && <svg x={percent(left + width)} y={top} width={percent(room - 1)} height="12"><text class="beside" x="5" y="9.5">{span.label}</text></svg>}
    </g>
  );
}

function Key({ lane, words, took }: { lane: string; words: string; took: number }) {
  if (took < 0.0005) return null;
  return <span class="wf-key"><svg width="10" height="10" aria-hidden="true"><rect class={`w-${lane}`} width="10" height="10" rx="2" /></svg>{words} {seconds(took)}</span>;
}

function Prompts() {
  const prompt = times.value?.stats.methods.find((each) => each.method === "session/prompt");
  if (!prompt || prompt.requests < 2 || prompt.p50 === null || prompt.p95 === null) return null;
  return <span class="dim only-wide"><Icon name="clock" size={12} /> session/prompt p50 {seconds(prompt.p50)} · p95 {seconds(prompt.p95)}</span>;
}

const percent = (value: number): string => `${value.toFixed(2)}%`;

interface Scale {
  at: (time: number) => number;
  gaps: { x: number; length: number }[];
  ticks: { x: number; words: string }[];
}

/** Seconds to per cent, with idle stretches cut short. */
function timeScale(spans: Span[], end: number): Scale {
  const pieces: { start: number; end: number; x: number }[] = [];
  for (const turn of spans.filter((span) => span.lane === "turn").sort((a, b) => a.start - b.start)) pieces.push({ start: turn.start, end: Math.max(turn.start, turn.end ?? end), x: 0 });
  const busy = pieces.reduce((sum, piece) => sum + piece.end - piece.start, 0);
  const limit = Math.min(IDLE, Math.max(0.1, busy / 5));
  for (let at = pieces.length - 1; at > 0; at--) {
    const [before, piece] = [pieces[at - 1]!, pieces[at]!];
    if (piece.start - before.end <= limit) {
      before.end = Math.max(before.end, piece.end);
      pieces.splice(at, 1);
    }
  }
  const shown = Math.max(0.001, pieces.reduce((sum, piece) => sum + piece.end - piece.start, 0));
  const each = (99 - FOLDED * (pieces.length - 1)) / shown;
  const ticks: Scale["ticks"] = [];
  const step = stepFor((shown * TICK) / 60);
  const digits = Math.max(0, Math.ceil(-Math.log10(step)));
  let x = 0;
  for (const piece of pieces) {
    piece.x = x;
    for (let time = Math.ceil(piece.start / step) * step; time < piece.end; time += step) {
      const place = x + (time - piece.start) * each;
      if (place - (ticks.at(-1)?.x ?? -TICK) >= TICK && place < 100 - TICK) ticks.push({ x: place, words: `${time.toFixed(digits)} s` });
    }
    x += (piece.end - piece.start) * each + FOLDED;
  }
  const gaps = pieces.slice(1).map((piece, index) => ({ x: piece.x - FOLDED, length: piece.start - pieces[index]!.end }));
  const at = (time: number): number => {
    const piece = pieces.findLast((one) => one.start <= time) ?? pieces[0];
    return piece === undefined ? 0 : piece.x + (Math.min(Math.max(time, piece.start), piece.end) - piece.start) * each;
  };
  return { at, gaps, ticks };
}

/** 1, 2 or 5 times a power of ten, and not less than `least`. */
function stepFor(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-6)));
  return power * ([1, 2, 5].find((one) => one * power >= least) ?? 10);
}
