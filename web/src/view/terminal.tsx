// What a command wrote: the end of it, and all of it on demand.
import { useMemo, useState } from "../libraries";
import { terminalLines, type Run } from "../text/terminal";
import { Visible } from "./parts";

const LAST = 24;
const MOST = 5_000;

export function TerminalOutput({ output, command, whole = false }: { output: string; command: string; whole?: boolean }) {
  const [all, setAll] = useState(whole);
  const lines = useMemo(() => terminalLines(output.replace(/\n$/, "")), [output]);
  const long = lines.length > LAST + 4;
  const shown = all || !long ? lines.slice(-MOST) : lines.slice(-LAST);
  return (
    <>
      {long && (
        <div class="term-cut">
          <span>{shown.length < lines.length ? `Last ${shown.length} of ${lines.length} lines` : `${lines.length} lines`}</span>
          <button type="button" class="linkish" aria-expanded={all} onClick={() => setAll(!all)}>{all ? "Show the end" : "Show all"}</button>
        </div>
      )}
      <pre class="term" tabIndex={0} aria-label="Output">
        {command !== "" && <span class="cmd"><Visible text={command} />{"\n"}</span>}
        {shown.map((line, index) => <Line key={index} runs={line} last={index === shown.length - 1} />)}
      </pre>
    </>
  );
}

function Line({ runs, last }: { runs: Run[]; last: boolean }) {
  return <>{runs.map((run, index) => (run.kind ? <span key={index} class={run.kind}>{run.text}</span> : run.text))}{last ? "" : "\n"}</>;
}
