// What a person should know while looking elsewhere: the title, and a notification when a question waits.
import { effect, useEffect } from "../libraries";
import { connection, current, entries, open } from "../store";
import { titleOf } from "./sessions";

export function useNotices(): void {
  useEffect(() => {
    const told = new Set<string>();
    return effect(() => {
      const all = [...entries.value.values()];
      const waiting = all.filter((one) => one.state === "waiting");
      const shown = entries.value.get(current.value ?? "");
      const mark = waiting.length > 0 ? "(!) " : shown?.state === "running" ? "● " : "";
      document.title = `${mark}${shown === undefined ? "acpella" : `${titleOf(shown)} · acpella`}`;
      for (const entry of all) {
        if (entry.state !== "waiting") told.delete(entry.sessionId);
        else if (!told.has(entry.sessionId)) {
          told.add(entry.sessionId);
          if (document.hidden && "Notification" in window && Notification.permission === "granted") {
            const notice = new Notification(`${titleOf(entry)} waits for you`, { body: connection.welcome.value?.agent ?? "", tag: entry.sessionId });
            notice.onclick = () => {
              focus();
              void open(entry.sessionId);
              notice.close();
            };
          }
        }
      }
    });
  }, []);
}
