// What is open beside the conversation.
import { signal } from "../libraries";

export const panels = {
  /** The list of sessions, where there is no room for it. */
  side: signal(false),
  right: signal(localStorage.getItem("acpella.panel") !== "closed"),
  keys: signal(false),
  palette: signal<string | null>(null),
  menu: signal(false),
  renaming: signal(false),
  inviting: signal(false),
  deleting: signal(false),
  review: signal(false),
  /** On a phone: which one of the views is shown. */
  view: signal<"chat" | "plan" | "wire">("chat"),
};
