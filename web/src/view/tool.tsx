// A tool call: one line when there is nothing to look at, a card when there is a change, output or a question.
import { Component, useState, type ComponentChildren } from "../libraries";
import { count } from "../fold/changes";
import { commandOf, diffsOf, isOpen } from "../fold/fold";
import type { Decision, Terminal, ToolItem } from "../fold/model";
import { duration, shortPath } from "../text/times";
import { plain } from "../text/visible";
import { asNumber, asObj, asText } from "../wire/types";
import { ContentBlock, Raw } from "./content";
import { Diff } from "./diff";
import { Icon, kindIcon } from "./icons";
import { StateGlyph, useNow } from "./parts";
import { TerminalOutput } from "./terminal";

interface Props {
  call: ToolItem;
  version: number;
  cwd: string;
  terminals: Map<string, Terminal>;
  compact?: boolean;
}

export class ToolCard extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    return next.version !== this.props.version || next.call !== this.props.call || next.cwd !== this.props.cwd;
  }

  override render(props: Props): ComponentChildren {
    return <Card {...props} />;
  }
}

/** What a call shows of a command: its own output, that of our terminals, or of both. */
function outputs(call: ToolItem, terminals: Map<string, Terminal>): { key: string; output: string; command: string; exit: ReturnType<typeof exitOf> }[] {
  const shown = call.content
    .filter((one) => one.type === "terminal")
    .map((one) => terminals.get(asText(one.terminalId)))
    .filter((one) => one !== undefined)
    .map((one) => ({ key: one.id, output: one.output, command: one.command, exit: exitOf(one.exit) }));
  if (call.output !== "" || call.exit !== null) shown.push({ key: "own", output: call.output, command: commandOf(call.rawInput), exit: exitOf(call.exit) });
  return shown;
}

function exitOf(exit: ToolItem["exit"]): { text: string; ok: boolean } | null {
  if (exit === null) return null;
  const code = asNumber(exit.code ?? exit.exit_code ?? exit.exitCode);
  const signal = asText(exit.signal);
  if (signal !== "") return { text: signal, ok: false };
  return code === null ? null : { text: `exit ${code}`, ok: code === 0 };
}

function Card({ call, cwd, terminals, compact = false }: Props) {
  const diffs = diffsOf(call);
  const commands = outputs(call, terminals);
  const others = call.content.filter((one) => one.type !== "terminal" && !(one.type === "diff" && typeof one.newText === "string"));
  const isCard = !compact && (diffs.length > 0 || commands.length > 0 || call.question !== null || call.tool === "execute" || call.status === "failed");
  const [opened, setOpened] = useState<boolean | null>(null);
  const [raw, setRaw] = useState(false);
  const [sides, setSides] = useState(false);
  const bySelf = isCard && call.status !== "pending" && (diffs.length > 0 || commands.some((one) => one.output !== "") || (others.length > 0 && (call.tool === "execute" || call.status === "failed")));
  const open = opened ?? bySelf;
  const location = call.locations[0];
  const where = location === undefined ? "" : shortPath(asText(location.path), cwd) + (asNumber(location.line) === null ? "" : `:${String(location.line)}`);
  const title = plain(call.title) || plain(call.name) || "Tool call";
  const command = commandOf(call.rawInput);
  const beside = command !== "" && call.tool === "execute" && commands.length === 0 ? command : where;
  return (
    <details class={`tool${isCard ? " card" : ""}`} data-kind={call.tool} data-status={call.question === null ? call.status : "waiting"} data-call={call.id} open={open} onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>
        <Icon name={kindIcon(call.tool)} />
        <span class="tool-name">{title}</span>
        {beside !== "" && !title.includes(beside) && <span class="tool-loc">{plain(beside)}</span>}
        <span class="tool-end">
          <End call={call} diffs={diffs} commands={commands} />
          <Icon name="chevron" size={12} class="chev" />
        </span>
      </summary>
      {open && (
        <div class="tool-body">
          {diffs.map((diff, index) => (
            <div key={index}>
              {diffs.length > 1 && <div class="file-head mono">{shortPath(asText(diff.path), cwd)}</div>}
              <Diff path={asText(diff.path)} before={asText(diff.oldText)} after={asText(diff.newText)} sides={sides} />
            </div>
          ))}
          {commands.map((one) => <TerminalOutput key={one.key} output={one.output} command={one.command || command} />)}
          {others.map((one, index) => (
            <div key={index} class="tool-content">
              {one.type === "content" ? <ToolText content={asObj(one.content)} /> : <Raw value={one} />}
            </div>
          ))}
          {call.locations.length > 1 && (
            <ul class="places">{call.locations.map((one, index) => <li key={index} class="mono">{plain(shortPath(asText(one.path), cwd))}{asNumber(one.line) === null ? "" : `:${String(one.line)}`}</li>)}</ul>
          )}
          {raw && call.rawInput !== undefined && <Raw name="rawInput" value={call.rawInput} />}
          {raw && call.rawOutput !== undefined && <Raw name="rawOutput" value={call.rawOutput} />}
          {(call.decision !== null || diffs.length > 0 || call.rawInput !== undefined || call.rawOutput !== undefined) && (
            <div class="tool-foot">
              {call.decision !== null && <><Icon name="shield" size={14} /><span>{decided(call.decision)}</span></>}
              <span class="grow" />
              {(call.rawInput !== undefined || call.rawOutput !== undefined) && <button type="button" class="btn quiet small" aria-expanded={raw} onClick={() => setRaw(!raw)}>Raw data</button>}
              {diffs.length > 0 && (
                <span class="tabs" role="group" aria-label="Layout of the change">
                  <button type="button" aria-pressed={!sides} onClick={() => setSides(false)}>Unified</button>
                  <button type="button" aria-pressed={sides} onClick={() => setSides(true)}>Split</button>
                </span>
              )}
            </div>
          )}
        </div>
      )}
    </details>
  );
}

/** Text of a tool is shown as it is: file contents are no Markdown. */
function ToolText({ content }: { content: ReturnType<typeof asObj> }) {
  if (content.type !== "text") return <ContentBlock block={{ type: asText(content.type), raw: content }} />;
  const text = asText(content.text);
  const fenced = /^```[^\n]*\n([\s\S]*?)\n?```\s*$/.exec(text);
  return <TerminalOutput output={fenced?.[1] ?? text} command="" />;
}

function End({ call, diffs, commands }: { call: ToolItem; diffs: ReturnType<typeof diffsOf>; commands: ReturnType<typeof outputs> }) {
  const running = isOpen(call) && call.question === null;
  const now = useNow(100, running);
  const exit = commands.map((one) => one.exit).find((one) => one !== null) ?? null;
  let added = 0;
  let removed = 0;
  for (const diff of diffs) {
    const [plus, minus] = count(diff);
    added += plus;
    removed += minus;
  }
  return (
    <>
      {diffs.length > 0 && <PlusMinus added={added} removed={removed} />}
      {call.question !== null && <span class="wait">waits for you</span>}
      {running && <><StateGlyph state="running" /><span class="go">{call.status === "pending" ? "pending" : "running"}</span></>}
      {exit !== null && <span class={exit.ok ? "ok" : "bad"}>{exit.text}</span>}
      {call.status === "failed" && (exit === null || exit.ok) && <span class="bad">{call.decision !== null && call.decision.optionKind.startsWith("reject") ? "rejected" : "failed"}</span>}
      {(call.status === "cancelled" || call.status === "unfinished") && <span>{call.status}</span>}
      {call.status === "completed" && exit === null && diffs.length === 0 && <Icon name="check" size={13} class="ok" />}
      <span class="num took">{duration((call.until || now) - call.at)}</span>
    </>
  );
}

export function PlusMinus({ added, removed }: { added: number; removed: number }) {
  return (
    <span class="plusminus">
      {(added > 0 || removed === 0) && <ins>+{added}</ins>}
      {added > 0 && removed > 0 && " "}
      {removed > 0 && <del>−{removed}</del>}
    </span>
  );
}

function decided(decision: Decision): ComponentChildren {
  if (decision.elsewhere) return <>Answered elsewhere after {duration(decision.ms)}</>;
  if (decision.cancelled) return "Nobody answered; the turn was stopped";
  const words: Record<string, string> = { allow_once: "Allowed once", allow_always: "Always allowed", reject_once: "Rejected", reject_always: "Always rejected" };
  return <>{words[decision.optionKind] ?? `“${plain(decision.name)}”`}{decision.by !== null && <> by <b>{plain(decision.by)}</b></>} after {duration(decision.ms)}</>;
}
