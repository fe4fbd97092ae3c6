// Who was waited for: a turn, its tools, a person, or the model. Stretches in which nothing happens are folded.
import { Icon } from "../view/icons";
import type { Span } from "./model";
import { select, selected, rows, times } from "./state";
import { seconds } from "./words";

const LANES = [["turn", "Turn"], ["tool", "Tool call"], ["person", "Waiting for a person"], ["silence", "Model silence"]] as const;
const IDLE = 15;
const FOLDED = 2;
const LAST = 12;

export function Waterfall() {
  const told = times.value;
  if (told === null || told.turns.length === 0) return null;
  const turns = told.turns.slice(-LAST);
  const from = turns[0]!.turn;
  const spans = told.spans.filter((span) => (span.turn ?? 0) >= from);
  const end = told.stats.seconds;
  const scale = timeScale(spans, end);
  const latest = turns.at(-1)!;
  const now = rows[selected.value - 1]?.t;
  return (
    <section class="wf" aria-label="Where the time went">
      <div class="wf-sum">
        <span><b>Turn {latest.turn}</b> {latest.total === null ? "goes on" : <>took <b>{seconds(latest.total)}</b></>}</span>
        <Key lane="turn" text={`model writes ${seconds(latest.writing)}`} />
        <Key lane="person" text={`person ${seconds(latest.person)}`} />
        <Key lane="silence" text={`model silent ${seconds(latest.silence)}`} />
        <Key lane="tool" text={`tools ${seconds(latest.tools)}`} />
        <span class="grow" />
        <Prompts />
      </div>
      <div class="wf-body">
        <ul class="wf-names">{LANES.map(([lane, name]) => <li key={lane}>{name}</li>)}</ul>
        <svg class="lanes" role="img" aria-label={turns.map((turn) => `Turn ${turn.turn}: ${turn.total === null ? "goes on" : seconds(turn.total)}`).join(", ")}>
          {LANES.map(([lane], index) => <line key={lane} class="lane" x1="0" x2="100%" y1={14 + index * 20} y2={14 + index * 20} />)}
          {scale.gaps.map((gap) => <text key={gap.at} class="gap" x={percent(scale.at(gap.at + gap.length / 2))} y="50" text-anchor="middle">{seconds(gap.length)}</text>)}
          {spans.map((span, index) => <Bar key={index} span={span} end={end} at={scale.at} />)}
          {now !== undefined && <line class="now" x1={percent(scale.at(now))} x2={percent(scale.at(now))} y1="2" y2="86" />}
        </svg>
      </div>
    </section>
  );
}

function Bar({ span, end, at }: { span: Span; end: number; at: (time: number) => number }) {
  const lane = LANES.findIndex(([name]) => name === span.lane);
  const left = at(span.start);
  const width = Math.max(0.25, at(span.end ?? end) - left);
  const length = (span.end ?? end) - span.start;
  const words = `${span.label ?? ""} · ${span.end === undefined ? "goes on" : seconds(length)}`;
  return (
    <g class="bar-of" onClick={() => void select(span.row)}>
      <rect class={`w-${span.lane}${span.bad ? " w-bad" : ""}`} x={percent(left)} y={8 + lane * 20} width={percent(width)} height="12" rx="2.5"><title>{words}</title></rect>
      {(span.lane === "turn" ? width > 6 : span.lane === "person" && width > 8) && <text class="in" x={percent(left + 0.5)} y={17.5 + lane * 20}>{span.lane === "turn" ? words : seconds(length)}</text>}
    </g>
  );
}

function Key({ lane, text }: { lane: string; text: string }) {
  return <span class="wf-key"><svg width="10" height="10" aria-hidden="true"><rect class={`w-${lane}`} width="10" height="10" rx="2" /></svg>{text}</span>;
}

function Prompts() {
  const prompt = times.value?.stats.methods.find((each) => each.method === "session/prompt");
  if (!prompt || prompt.p50 === null || prompt.p95 === null) return null;
  return <span class="dim only-wide"><Icon name="clock" size={12} /> session/prompt p50 {seconds(prompt.p50)} · p95 {seconds(prompt.p95)}</span>;
}

const percent = (value: number): string => `${value.toFixed(2)}%`;

/** Seconds to per cent, with idle stretches cut short. */
function timeScale(spans: Span[], end: number): { at: (time: number) => number; gaps: { at: number; length: number }[] } {
  const busy = spans.filter((span) => span.lane === "turn").map((span) => [span.start, span.end ?? end] as const).sort((a, b) => a[0] - b[0]);
  const begin = busy[0]?.[0] ?? 0;
  const gaps: { at: number; length: number }[] = [];
  let reached = begin;
  for (const [start, stop] of busy) {
    if (start - reached > IDLE) gaps.push({ at: reached, length: start - reached });
    reached = Math.max(reached, stop);
  }
  const squeezed = (time: number): number => {
    let value = Math.min(Math.max(time, begin), reached) - begin;
    for (const gap of gaps) {
      if (time >= gap.at + gap.length) value -= gap.length - FOLDED;
      else if (time > gap.at) value -= (time - gap.at) * (1 - FOLDED / gap.length);
    }
    return value;
  };
  const whole = Math.max(0.001, squeezed(reached));
  return { at: (time) => (squeezed(time) / whole) * 99, gaps };
}
