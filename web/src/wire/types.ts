// What goes over the wire, as far as the page looks at it. Everything may have more members, and any may be missing.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json | undefined };
export type Obj = { [name: string]: Json | undefined };

export type Scope = "read" | "prompt" | "approve" | "admin";
export type State = "running" | "waiting" | "done" | "failed" | "idle";

/** A line of the list of sessions. */
export interface Entry {
  sessionId: string;
  cwd: string;
  title?: string | null;
  state: State;
  updatedAt: number | string;
  owner?: string;
  waitsFor?: string | null;
  waitsTool?: string;
  people?: number;
  branch?: string;
}

export interface Person {
  name: string;
  role: "controller" | "observer";
  approves: boolean;
  owner: boolean;
}

/** An event of a session's log. */
export interface LogEvent {
  n: number;
  t: number;
  k: string;
  [name: string]: Json | undefined;
}

export interface Welcome {
  agentCapabilities: Obj;
  agentInfo: Obj;
  authMethods: Json[];
  user: string;
  scopes: Scope[];
  agent: string;
  cwd: string;
  /** Whether the inspector is beside this page, and lets its user in. */
  inspector: boolean;
  switches: Switch[];
  /** Agents that the same command could start instead. */
  others: { name: string; state: "settings" | "installed" | "missing" }[];
  /** Variables of models that have a value. */
  keys: string[];
}

/** Something that the client can do, which a person may switch off. */
export interface Switch {
  name: string;
  words: string;
  on: boolean;
}

export const isObj = (value: unknown): value is Obj => typeof value === "object" && value !== null && !Array.isArray(value);
export const asObj = (value: unknown): Obj => (isObj(value) ? value : {});
export const asList = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
export const asText = (value: unknown): string => (typeof value === "string" ? value : "");
export const asNumber = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);
