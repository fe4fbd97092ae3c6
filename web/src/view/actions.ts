// Everything that can be done, for menus, the palette and keys: each in one place.
import { textOf } from "../fold/fold";
import { connection, current, currentTalk, entries, fork, open, refresh, show, stop } from "../store";
import { isObj } from "../wire/types";
import { asText } from "../wire/types";
import type { IconName } from "./icons";
import { panels } from "./panels";
import { sorted, timeOf, titleOf } from "./sessions";
import { MOD } from "./parts";

export interface Action {
  title: string;
  detail?: string;
  icon: IconName;
  keys?: string[];
  run: () => void;
}

export function toggleTheme(): void {
  const root = document.documentElement;
  const dark = root.dataset.theme !== undefined ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("acpella.theme", root.dataset.theme);
}

export function togglePanel(): void {
  panels.right.value = !panels.right.value;
  localStorage.setItem("acpella.panel", panels.right.value ? "open" : "closed");
}

const can = (name: string): boolean => {
  const offered = connection.welcome.value?.agentCapabilities.sessionCapabilities;
  return isObj(offered) && isObj(offered[name]);
};

/** The conversation as Markdown, into a file. */
export function exportMarkdown(): void {
  const talk = currentTalk.value;
  if (talk === null) return;
  const lines: string[] = [`# ${titleOf(entries.value.get(talk.id))}`, ""];
  for (const item of talk.conversation.items) {
    if (item.kind === "prompt") lines.push(`## ${item.by || "You"}`, "", item.blocks.map((one) => (one.type === "text" ? asText(one.raw.text) : `[${one.type}]`)).join("\n"), "");
    else if (item.kind === "text") lines.push(textOf([item]), "");
    else if (item.kind === "tool") lines.push(`- ${item.title} (${item.status})`, "");
  }
  save(lines.join("\n"), "md", "text/markdown");
}

/** Everything that the page knows of the session, into a file. */
export function exportJson(): void {
  const talk = currentTalk.value;
  if (talk === null) return;
  const { items, plan, usage, title } = talk.conversation;
  save(JSON.stringify({ sessionId: talk.id, title, plan, usage, items }, null, 2), "json", "application/json");
}

function save(text: string, ending: string, kind: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = `${titleOf(entries.value.get(current.value ?? "")).replace(/[^\w -]+/g, "").slice(0, 60) || "session"}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function nextWaiting(): void {
  const waiting = sorted(entries.value.values()).filter((one) => one.state === "waiting" && one.sessionId !== current.value);
  if (waiting[0] !== undefined) void open(waiting[0].sessionId);
}

export async function askForNotifications(): Promise<void> {
  if ("Notification" in window) await Notification.requestPermission();
}

/** What can be done with the session that is shown. */
export function sessionActions(): Action[] {
  const id = current.value;
  if (id === null) return [];
  const actions: Action[] = [
    { title: "Rename the session…", icon: "edit", run: () => (panels.renaming.value = true) },
    { title: "Invite somebody…", detail: "to watch, or to work along", icon: "people", run: () => (panels.inviting.value = true) },
    { title: "Review the changes", detail: "all files of this session", icon: "code", run: () => (panels.review.value = true) },
    { title: "Export as Markdown", icon: "save", run: exportMarkdown },
    { title: "Export as JSON", icon: "save", run: exportJson },
  ];
  if (can("fork")) actions.push({ title: "Fork the session", detail: "a copy that goes its own way", icon: "fork", run: () => void fork(id) });
  if (can("delete")) actions.push({ title: "Delete the session…", icon: "delete", run: () => (panels.deleting.value = true) });
  return actions;
}

export function actions(): Action[] {
  const all: Action[] = [
    { title: "New session", icon: "plus", keys: ["g", "c"], run: () => show(null) },
    ...sessionActions(),
    { title: "Next session that waits", icon: "alert", keys: ["g", "n"], run: nextWaiting },
    { title: "Side panel", detail: "plan, files, usage, people, wire", icon: "panel", keys: ["g", "p"], run: togglePanel },
    { title: "Light or dark", icon: "theme", run: toggleTheme },
    { title: "Keys", icon: "help", keys: ["?"], run: () => (panels.keys.value = true) },
    { title: "Tell me when something waits", detail: "a notification while this tab is hidden", icon: "alert", run: () => void askForNotifications() },
    { title: "List the sessions again", icon: "retry", run: () => void refresh() },
    { title: "Log out", icon: "logout", run: () => connection.logOut() },
  ];
  if (currentTalk.value?.conversation.turn != null) all.unshift({ title: "Stop the agent", icon: "stop", keys: ["Esc", "Esc"], run: stop });
  for (const entry of sorted(entries.value.values()).slice(0, 200)) {
    all.push({ title: titleOf(entry), detail: `session · ${entry.state === "idle" ? "earlier" : entry.state}${timeOf(entry) ? "" : ""}`, icon: "chat", run: () => void open(entry.sessionId) });
  }
  return all;
}

export const KEYS: [string, [string, string[]][]][] = [
  ["Everywhere", [["Palette", [MOD, "K"]], ["These keys", ["?"]], ["New session", ["g", "c"]], ["Next session that waits", ["g", "n"]], ["Side panel", ["g", "p"]], ["Stop the agent", ["Esc", "Esc"]]]],
  ["Writing", [["Send", ["↵"]], ["New line", ["⇧", "↵"]], ["Commands", ["/"]], ["Files", ["@"]], ["The last prompt again", ["↑"]], ["To the input", ["i"]]]],
  ["Questions", [["Choose an answer", ["1", "…", "9"]], ["Move", ["↑", "↓"]], ["Reject", ["Esc"]]]],
];
