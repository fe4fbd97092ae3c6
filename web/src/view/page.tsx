// The layout: sessions, conversation, panel; one column on a phone.
import { useEffect } from "../libraries";
import { connection, current, currentTalk, entries, problem, show, type Talk } from "../store";
import { homely } from "../text/times";
import { plain } from "../text/visible";
import { nextWaiting, sessionActions, togglePanel } from "./actions";
import { Client } from "./client";
import { Composer, focusComposer } from "./composer";
import { Dialogs } from "./dialogs";
import { Icon } from "./icons";
import { useNotices } from "./notices";
import { openPalette, Palette } from "./palette";
import { Panel, PeopleSection, PlanSection, PlanStrip, UsageSection, WireSection } from "./panel";
import { panels } from "./panels";
import { Avatar, IconButton, Modal, useNow } from "./parts";
import { Questions, later, takeUp } from "./questions";
import { Sessions, titleOf } from "./sessions";
import { Login, Start } from "./start";
import { Thread } from "./thread";

export function Page() {
  useKeys();
  useNotices();
  const link = connection.link.value;
  if (link.state === "login") return <Login why={link.why} />;
  const talk = currentTalk.value;
  talk?.version.value;
  const isEmpty = talk === null || (talk.conversation.items.length === 0 && !talk.loading.value && talk.failure.value === "");
  const view = panels.view.value;
  return (
    <>
      <div class={`app${isEmpty ? " first" : ""}${panels.right.value && !isEmpty ? "" : " no-panel"}`} data-view={view}>
        <div class={`side-box${panels.side.value ? " open" : ""}`} onClick={(event) => event.target === event.currentTarget && (panels.side.value = false)}>
          <Sessions />
        </div>
        <main class="main">
          <Head talk={talk} isEmpty={isEmpty} />
          <LostBanner />
          <ProblemBanner />
          <Client />
          {view === "chat" || isEmpty ? (
            <>
              {talk !== null && !isEmpty && <PlanStrip talk={talk} />}
              {talk !== null && !isEmpty ? <Thread key={talk.id} talk={talk} onReview={() => (panels.review.value = true)} /> : <Start talk={talk} />}
              {talk !== null && <PutAside talk={talk} />}
              <Composer talk={talk} />
            </>
          ) : (
            <div class="log narrow-view">
              {view === "plan" && talk !== null && <><PlanSection talk={talk} /><UsageSection talk={talk} /><PeopleSection talk={talk} />{talk.conversation.plan.length === 0 && <p class="dim nothing">The agent has no plan.</p>}</>}
              {view === "wire" && <WireSection most={60} />}
            </div>
          )}
        </main>
        {talk !== null && !isEmpty && panels.right.value && <Panel talk={talk} />}
        <BottomTabs />
      </div>
      {talk !== null && <Questions talk={talk} />}
      <Dialogs />
      <Palette />
    </>
  );
}

function Head({ talk, isEmpty }: { talk: Talk | null; isEmpty: boolean }) {
  const entry = entries.value.get(current.value ?? "");
  const welcome = connection.welcome.value;
  const me = welcome?.user;
  const cwd = homely(entry?.cwd ?? welcome?.cwd ?? "");
  const people = talk?.people.value ?? [];
  return (
    <header class={`bar${isEmpty ? " only-narrow" : ""}`}>
      <IconButton icon="menu" class="only-narrow" label="Sessions" onClick={() => (panels.side.value = true)} />
      <div class="titles grow">
        <h1 class="cut">{talk === null || isEmpty ? "acpella" : titleOf(entry)}</h1>
        <div class="where cut only-narrow">{plain(welcome?.agent ?? "")} · {cwd}</div>
      </div>
      <span class="where only-wide">{plain(welcome?.agent ?? "")}</span>
      <span class="where only-wide mono cut">{cwd}</span>
      {entry?.branch && <span class="badge line only-wide branch" title="The branch of the directory"><Icon name="branch" size={12} /><span class="cut">{plain(entry.branch)}</span></span>}
      {people.length > 1 && (
        <button type="button" class="people" aria-label={people.map((one) => `${one.name} ${one.role === "observer" ? "watches" : "controls"}`).join(", ")} onClick={() => !panels.right.value && togglePanel()}>
          {[...people].sort((a, b) => Number(b.name === me) - Number(a.name === me)).slice(0, 4).map((one) => <Avatar key={one.name} name={one.name} />)}
        </button>
      )}
      {!isEmpty && <IconButton icon="panel" class="only-wide" label="Side panel" pressed={panels.right.value} onClick={togglePanel} />}
      {!isEmpty && (
        <span class="menu-box">
          <IconButton icon="dots" label="More" expanded={panels.menu.value} onClick={() => (panels.menu.value = !panels.menu.value)} />
          {panels.menu.value && <Menu />}
        </span>
      )}
    </header>
  );
}

function Menu() {
  const close = (): void => {
    panels.menu.value = false;
  };
  const all = sessionActions();
  return (
    <Modal label="More" class="menu" onClose={close}>
      <div class="menu-list">
        {all.map((one) => (
          <button key={one.title} type="button" class="opt" onClick={() => {
            close();
            one.run();
          }}><Icon name={one.icon} /><b>{one.title}</b></button>
        ))}
      </div>
    </Modal>
  );
}

function LostBanner() {
  const link = connection.link.value;
  const now = useNow(500, link.state === "lost");
  if (link.state !== "lost" || connection.welcome.value === null) return null;
  const seconds = Math.max(0, Math.ceil((link.again - now) / 1000));
  return (
    <div class="banner" role="status">
      <Icon name="plug" size={14} />
      <b>Connection lost.</b>
      <span class="grow">{link.why !== "" ? plain(link.why) : "The agent goes on without you."} {seconds > 0 ? `Trying again in ${seconds} s.` : "Trying again."}</span>
      <button type="button" class="btn small" onClick={() => connection.retry()}>Try now</button>
    </div>
  );
}

function ProblemBanner() {
  if (problem.value === "") return null;
  return (
    <div class="banner err" role="alert">
      <Icon name="alert" size={14} />
      <span class="grow">{plain(problem.value)}</span>
      <IconButton icon="cross" size={14} label="Close" onClick={() => (problem.value = "")} />
    </div>
  );
}

/** A question that somebody put aside does not get lost. */
function PutAside({ talk }: { talk: Talk }) {
  talk.version.value;
  const count = talk.conversation.questions.size;
  if (count === 0 || ![...later.value].some((key) => key.startsWith(`${talk.id}/`))) return null;
  return <div class="banner in-dock"><Icon name="alert" size={14} /><span class="grow">{count === 1 ? "A question waits" : `${count} questions wait`} for an answer.</span><button type="button" class="btn small" onClick={() => takeUp(talk)}>Answer</button></div>;
}

function BottomTabs() {
  const waiting = [...entries.value.values()].filter((one) => one.state === "waiting").length;
  const tab = (id: "chat" | "plan" | "wire", icon: "chat" | "plan" | "wire", words: string) => (
    <button type="button" aria-current={panels.view.value === id} onClick={() => (panels.view.value = id)}>
      <Icon name={icon} size={18} />
      {words}
      {id === "chat" && waiting > 0 && <span class="count">{waiting}<span class="hide"> waiting</span></span>}
    </button>
  );
  return <nav class="bottom-tabs" aria-label="Views">{tab("chat", "chat", "Chat")}{tab("plan", "plan", "Plan")}{tab("wire", "wire", "Wire")}</nav>;
}

function useKeys(): void {
  useEffect(() => {
    let before = "";
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openPalette();
        return;
      }
      const target = event.target as HTMLElement;
      const typing = target.closest("input, textarea, select, [contenteditable], dialog") !== null;
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const combination = before === "g" ? `g${event.key}` : event.key;
      before = event.key;
      const run: Record<string, () => void> = {
        "?": () => (panels.keys.value = true),
        "/": () => focusComposer(),
        i: focusComposer,
        gc: () => show(null),
        gn: nextWaiting,
        gp: togglePanel,
      };
      const action = run[combination];
      if (action !== undefined) {
        event.preventDefault();
        action();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

