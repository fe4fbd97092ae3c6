// The list of sessions: those that wait for a person first.
import { useState } from "../libraries";
import { connection, current, entries, open, show } from "../store";
import { ago, homely } from "../text/times";
import { plain } from "../text/visible";
import type { Entry } from "../wire/types";
import { Icon } from "./icons";
import { IconButton, MOD, StateGlyph, useNow } from "./parts";
import { openPalette } from "./palette";
import { toggleTheme } from "./actions";
import { panels } from "./panels";

export const timeOf = (entry: Entry): number => (typeof entry.updatedAt === "number" ? entry.updatedAt : Date.parse(entry.updatedAt ?? "") || 0);
export const titleOf = (entry: Entry | undefined): string => plain(entry?.title ?? "") || "Untitled session";

export function sorted(list: Iterable<Entry>): Entry[] {
  return [...list].sort((a, b) => timeOf(b) - timeOf(a));
}

const GROUPS: [string, (entry: Entry) => boolean][] = [
  ["Waiting for you", (one) => one.state === "waiting"],
  ["Running", (one) => one.state === "running"],
  ["Done", (one) => one.state === "done" || one.state === "failed"],
  ["Earlier", (one) => one.state === "idle"],
];
const FIRST = 40;

export function Sessions() {
  const now = useNow(30_000);
  const [all, setAll] = useState(false);
  const list = sorted(entries.value.values());
  const welcome = connection.welcome.value;
  return (
    <nav class="side" aria-label="Sessions">
      <div class="bar">
        <button type="button" class="brand" onClick={() => show(null)}><Icon name="logo" size={18} />acpella</button>
        <span class="grow" />
        <IconButton icon="plus" label="New session" onClick={() => show(null)} />
      </div>
      <button type="button" class="side-find" onClick={() => openPalette("session ")}><Icon name="search" size={14} /><span class="cut grow">Search sessions</span><span><kbd>{MOD} K</kbd></span></button>
      <div class="side-list">
        {list.length === 0 && welcome !== null && <p class="side-empty">No sessions in <span class="mono">{homely(welcome.cwd)}</span> yet.</p>}
        {GROUPS.map(([name, belongs]) => {
          const found = list.filter(belongs);
          if (found.length === 0) return null;
          const shown = all ? found : found.slice(0, FIRST);
          return (
            <section key={name}>
              <h2>{name}</h2>
              {shown.map((entry) => <Row key={entry.sessionId} entry={entry} now={now} />)}
              {shown.length < found.length && <button type="button" class="linkish side-more" onClick={() => setAll(true)}>{`Show all ${found.length}`}</button>}
            </section>
          );
        })}
      </div>
      <div class="side-foot">
        <LinkLight />
        <IconButton icon="theme" label="Light or dark" onClick={toggleTheme} />
        <IconButton icon="help" label="Keys" onClick={() => (panels.keys.value = true)} />
      </div>
    </nav>
  );
}

function LinkLight() {
  const state = connection.link.value.state;
  const words = { live: location.host, lost: connection.welcome.value === null ? "No agent" : "Connection lost", starting: "Connecting", login: "Not logged in", over: "Ended" };
  return <><span class={`live is-${state}`} /><span class="cut grow">{words[state]}</span></>;
}

const WANTS: Record<string, string> = { "session/request_permission": "wants a permission", "elicitation/create": "has a question" };
const WANTS_TO: Record<string, string> = { edit: "wants to edit a file", execute: "wants to run a command", delete: "wants to delete a file", move: "wants to move a file", fetch: "wants to fetch a page" };

function Row({ entry, now }: { entry: Entry; now: number }) {
  const me = connection.welcome.value?.user;
  const folder = homely(entry.cwd).split("/").at(-1) || homely(entry.cwd);
  return (
    <button
      type="button"
      class="session"
      aria-current={current.value === entry.sessionId}
      data-state={entry.state}
      onClick={() => {
        panels.side.value = false;
        void open(entry.sessionId);
      }}
    >
      <StateGlyph state={entry.state} />
      <b>{titleOf(entry)}</b>
      <time>{timeOf(entry) === 0 ? "" : ago(timeOf(entry), now)}</time>
      <small>
        {entry.state === "waiting" && <span class="ask">{WANTS_TO[entry.waitsTool ?? ""] ?? WANTS[entry.waitsFor ?? ""] ?? "waits for you"} · </span>}
        {plain(folder)}
        {entry.owner !== undefined && entry.owner !== me && entry.owner !== "" && ` · of ${plain(entry.owner)}`}
      </small>
    </button>
  );
}
