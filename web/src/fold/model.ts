// What a conversation is, once its events are folded.
import type { Json, Obj } from "../wire/types";

export interface Block {
  type: string;
  raw: Obj;
}

interface Base {
  key: string;
  at: number;
  /** Grows with each change, so that a view knows whether it is up to date. */
  version: number;
}

export interface PromptItem extends Base {
  kind: "prompt";
  by: string;
  blocks: Block[];
}
export interface TextItem extends Base {
  kind: "text" | "thought";
  messageId: string | null;
  text: string;
  until: number;
  done: boolean;
}
export interface MediaItem extends Base {
  kind: "media";
  block: Block;
}
export interface ToolItem extends Base {
  kind: "tool";
  id: string;
  title: string;
  tool: string;
  status: string;
  name: string;
  content: Obj[];
  locations: Obj[];
  rawInput: Json | undefined;
  rawOutput: Json | undefined;
  output: string;
  exit: Obj | null;
  until: number;
  question: number | null;
  decision: Decision | null;
}
export interface EndItem extends Base {
  kind: "end";
  stop: string;
  ms: number;
  usage: Obj;
  calls: number;
  files: string[];
}
export interface ErrorItem extends Base {
  kind: "error";
  code: number;
  message: string;
  data: Json;
}
export interface GoneItem extends Base {
  kind: "gone";
  reason: string;
  stderr: string;
}
export interface UnknownItem extends Base {
  kind: "unknown";
  name: string;
  raw: Json;
}
export interface NoteItem extends Base {
  kind: "note";
  text: string;
}
export interface NoticeItem extends Base {
  kind: "notice";
  severity: string;
  title: string;
  text: string;
}
export type Item = PromptItem | TextItem | MediaItem | ToolItem | EndItem | ErrorItem | GoneItem | UnknownItem | NoteItem | NoticeItem;

export interface Decision {
  by: string | null;
  /** It was answered at another connection of the agent, which does not tell by whom. */
  elsewhere: boolean;
  ms: number;
  name: string;
  optionKind: string;
  cancelled: boolean;
}

export interface Question {
  number: number;
  method: string;
  params: Obj;
  at: number;
}

export interface Terminal {
  id: string;
  command: string;
  output: string;
  exit: Obj | null;
  version: number;
}

export interface PlanEntry {
  content: string;
  status: string;
  priority: string;
}

export interface Choice {
  id: string;
  name: string;
  description: string;
  group: string;
}

/** Something of the session that can be chosen: its mode, its model, an option. */
export interface Setting {
  id: string;
  name: string;
  description: string;
  category: string;
  type: string;
  value: string | boolean;
  choices: Choice[];
  how: "mode" | "model" | "option";
}

export interface Command {
  name: string;
  description: string;
  hint: string;
}

export interface Turn {
  since: number;
  by: string;
  /** Somebody runs it at another connection of the agent. */
  elsewhere?: boolean;
}

export interface Conversation {
  items: Item[];
  calls: Map<string, ToolItem>;
  terminals: Map<string, Terminal>;
  questions: Map<number, Question>;
  plan: PlanEntry[];
  modes: Setting | null;
  models: Setting | null;
  options: Setting[];
  commands: Command[];
  usage: Obj;
  title: string;
  turn: Turn | null;
  /** The number of the last event. */
  n: number;
  version: number;
}
