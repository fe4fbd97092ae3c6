// Beside the conversation: plan, files, usage, people, wire.
import { useMemo } from "../libraries";
import { changesOf, waitingEdits } from "../fold/changes";
import type { PlanEntry } from "../fold/model";
import { connection, entries, wire, type Talk } from "../store";
import { amount, duration, money, shortPath } from "../text/times";
import { plain } from "../text/visible";
import { asNumber, asObj, asText } from "../wire/types";
import { Icon } from "./icons";
import { Avatar, Meter, useNow } from "./parts";
import { panels } from "./panels";
import { PlusMinus } from "./tool";

export function Panel({ talk }: { talk: Talk }) {
  return (
    <aside class="panel" aria-label="Plan, files, usage, people, wire">
      <PlanSection talk={talk} />
      <FilesSection talk={talk} />
      <UsageSection talk={talk} />
      <PeopleSection talk={talk} />
      <WireSection />
    </aside>
  );
}

const doneOf = (plan: PlanEntry[]): string => `${plan.filter((one) => one.status === "completed").length} of ${plan.length}`;

export function Plan({ plan }: { plan: PlanEntry[] }) {
  return (
    <ol class="plan">
      {plan.map((one, index) => (
        <li key={index} data-status={one.status}>
          <Icon name={one.status === "completed" ? "check" : one.status === "in_progress" ? "half" : "ring"} size={15} />
          <span>{plain(one.content)}<span class="hide">, {plain(one.status.replace("_", " "))}</span></span>
        </li>
      ))}
    </ol>
  );
}

export function PlanSection({ talk }: { talk: Talk }) {
  talk.version.value;
  const plan = talk.conversation.plan;
  if (plan.length === 0) return null;
  return <section class="sect"><h2>Plan<span class="num">{doneOf(plan)}</span></h2><Plan plan={plan} /></section>;
}

/** Where there is no room for the panel: the step that is on. */
export function PlanStrip({ talk }: { talk: Talk }) {
  talk.version.value;
  const plan = talk.conversation.plan;
  if (plan.length === 0) return null;
  const now = plan.find((one) => one.status === "in_progress") ?? plan.find((one) => one.status !== "completed") ?? plan.at(-1)!;
  return (
    <details class="plan-strip">
      <summary>
        <span class="dots" aria-hidden="true">{plan.slice(0, 8).map((one, index) => <i key={index} class={one.status === "completed" ? "d" : one.status === "in_progress" ? "g" : ""} />)}</span>
        <b class="cut grow">{plain(now.content)}</b>
        <span class="dim num">{doneOf(plan)}</span>
        <Icon name="down" size={12} />
      </summary>
      <Plan plan={plan} />
    </details>
  );
}

function FilesSection({ talk }: { talk: Talk }) {
  talk.version.value;
  const changes = useMemo(() => changesOf(talk.conversation.items), [talk.version.value, talk]);
  const waiting = waitingEdits(talk.conversation);
  const cwd = entries.value.get(talk.id)?.cwd ?? "";
  return (
    <section class="sect">
      <h2>Files changed<span>{changes.length > 0 ? <button type="button" class="linkish" onClick={() => (panels.review.value = true)}>Review</button> : "0"}</span></h2>
      {changes.length === 0 && <p class="dim">None yet.{waiting > 0 && ` ${waiting === 1 ? "One edit waits" : `${waiting} edits wait`} for an answer.`}</p>}
      {changes.map((one) => <div key={one.path} class="file"><span class="cut">{plain(shortPath(one.path, cwd))}</span><PlusMinus added={one.added} removed={one.removed} /></div>)}
    </section>
  );
}

const COUNTS: [string, string][] = [["inputTokens", "Read"], ["outputTokens", "Written"], ["cachedReadTokens", "Read from cache"], ["thoughtTokens", "Thought"]];

export function UsageSection({ talk }: { talk: Talk }) {
  talk.version.value;
  const usage = talk.conversation.usage;
  const used = asNumber(usage.used);
  const size = asNumber(usage.size);
  const cost = asObj(usage.cost);
  const spent = asNumber(cost.amount);
  const last = talk.conversation.items.findLast((item) => item.kind === "end");
  const turn = last?.kind === "end" ? last.usage : {};
  const counts = COUNTS.map(([name, word]) => [word, asNumber(turn[name])] as const).filter(([, value]) => value !== null && value > 0);
  if (used === null && spent === null && counts.length === 0) return null;
  const share = used !== null && size !== null && size > 0 ? used / size : null;
  return (
    <section class="sect">
      <h2>Usage{spent !== null && <span class="num">{money(spent, asText(cost.currency) || "USD")}</span>}</h2>
      {share !== null && <Meter share={share} label={`${Math.round(share * 100)} % of the context used`} />}
      <dl class="pairs">
        {used !== null && <><dt>Context</dt><dd>{amount(used)}{size !== null && ` of ${amount(size)}`}{share !== null && ` · ${Math.round(share * 100)} %`}</dd></>}
        {counts.map(([word, value]) => [<dt key={word}>{word}, last turn</dt>, <dd key={`${word}v`}>{amount(value ?? 0)}</dd>])}
      </dl>
    </section>
  );
}

export function PeopleSection({ talk }: { talk: Talk }) {
  const people = talk.people.value;
  const me = connection.welcome.value?.user;
  const isOwner = entries.value.get(talk.id)?.owner === me;
  if (people.length === 0) return null;
  return (
    <section class="sect">
      <h2>People<span>{isOwner ? <button type="button" class="linkish" onClick={() => (panels.inviting.value = true)}>Invite</button> : people.length}</span></h2>
      {people.map((one) => (
        <div key={one.name} class="who">
          <Avatar name={one.name || "?"} big />
          <span><b>{plain(one.name) || "You"}</b><small>{one.role === "observer" ? "watches" : one.approves ? (one.owner ? "controls" : "may prompt and approve") : "may prompt"}{one.name === me && " · you"}</small></span>
        </div>
      ))}
    </section>
  );
}

/** The inspector opens with what this tab knows, so that nobody logs in twice. In its frame, it is open already. */
export function hasInspector(): boolean {
  const welcome = connection.welcome.value;
  return window === top && welcome !== null && welcome.inspector;
}

export function WireSection({ most = 6 }: { most?: number }) {
  useNow(1000);
  const lines = wire.value.slice(-most).reverse();
  const now = performance.now();
  return (
    <section class="sect">
      <h2>Wire{hasInspector() && <span><a class="linkish" href="/inspect" target="_blank" rel="opener">Open inspector</a></span>}</h2>
      {lines.map((line, index) => (
        <div key={index} class="mini">
          <Icon name={line.out ? "right" : "left"} size={11} class={line.out ? "to-out" : "to-in"} />
          <b>{plain(line.name)}{line.count > 1 && ` ×${line.count}`}</b>
          <span>{duration(now - line.at)}</span>
        </div>
      ))}
    </section>
  );
}
