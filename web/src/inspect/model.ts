// What the inspector is told: rows of a recording, where the time went, and what is wrong.
export interface Row {
  n: number;
  t: number;
  kind: "req" | "ntf" | "res" | "err" | "text" | "stderr" | "event";
  dir?: "in" | "out";
  c?: number;
  method?: string;
  update?: string;
  session?: string;
  id?: string;
  pair?: number;
  took?: number;
  size?: number;
  preview?: string;
  fold?: string;
}

export interface Batch {
  rows: Row[];
  rules: Record<string, string[]>;
  total: number;
  left_out: number;
  live: boolean;
  header: Record<string, unknown>;
  name: string;
  source: string;
  can_hold: boolean;
}

/** A conversation that can be looked at. */
export interface Conversation { id: string; name: string; started: number; can_hold: boolean }

export type Then = "hold" | "drop" | "delay" | "duplicate" | "garble";
export interface Rule { filter: string; then: Then; seconds: number }
/** A message that waits for a person. `whole` is false if its text here is not all of it. */
export interface Held { n: number; dir: "in" | "out"; text: string; whole: boolean; kind: Row["kind"]; method?: string; update?: string; session?: string; id?: string; preview?: string; delayed?: number }
export interface HoldState { rule: Rule | null; held: Held[]; last: { how: string; dir: string } | null; changes: number; ended?: boolean }
export type Order =
  | ({ do: "start" } & Rule)
  | { do: "stop" }
  | { do: "act"; n: number; how: string; text?: string; seconds?: number; result?: unknown; error?: unknown }
  | { do: "send"; dir: "in" | "out"; text: string };

export interface Span {
  lane: "turn" | "tool" | "person" | "silence";
  start: number;
  row: number;
  end?: number;
  label?: string;
  turn?: number;
  bad?: boolean;
}

export interface TurnTimes { turn: number; row: number; total: number | null; person: number; tools: number; silence: number; writing: number; stop_reason: string }
export interface MethodTimes { method: string; requests: number; errors: number; unanswered: number; p50: number | null; p95: number | null; slowest: number | null }
export interface Stats { frames: number; bytes: number; seconds: number; connections: number; sessions: number; methods: MethodTimes[]; dropped: number; hidden: number }
export interface Finding { requirement: string; rule: string; level: string; side: string; text: string; sentence: string; link: string; rows: number[] }
export interface Times { spans: Span[]; turns: TurnTimes[]; stats: Stats; findings: Finding[]; finding_count: number }
export interface Note { path: string; text?: string; type?: string; unknown?: boolean }
export interface Line { line: unknown; notes: Note[] }

/** Where it comes from: a server, or the file that the page is. */
export interface Source {
  rows(after: number): Promise<Batch>;
  times(): Promise<Times>;
  line(n: number): Promise<Line>;
  /** The rows after `after` that match, and the last row that was searched. */
  search(query: string, after: number): Promise<{ rows: number[]; until: number }>;
  /** The conversation up to a row, as a program or as a test. */
  copy(as: "python" | "pytest", n: number): Promise<string>;
  save?(): Promise<void>;
  /** Which there are, and whether there is a page to talk with the agent. */
  conversations?(): Promise<{ sources: Conversation[]; chat: boolean }>;
  choose?(id: string): void;
  held?(after: number): Promise<HoldState>;
  order?(order: Order): Promise<HoldState>;
}
