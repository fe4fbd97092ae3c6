// Two places that rows come from.
import type { Batch, Conversation, HoldState, Line, Order, Row, Source, Times } from "./model";
import { parseFilter } from "./filter";

const TOKEN = "acpella.token";

export class LoginNeeded extends Error {}

/** A server that reads the recording. The token came by a code in the fragment, good once. */
export class ServerSource implements Source {
  #source = "";

  async logIn(): Promise<void> {
    const code = location.hash.slice(1);
    if (code === "") return;
    history.replaceState(null, "", location.pathname);
    const answer = await fetch("/acp/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }) });
    if (answer.ok) sessionStorage.setItem(TOKEN, ((await answer.json()) as { token: string }).token);
    else if (sessionStorage.getItem(TOKEN) === null) throw new LoginNeeded((await answer.text()).trim());
  }

  /** Log in with a token that a person typed. */
  logInWith(token: string): void {
    sessionStorage.setItem(TOKEN, token.trim());
  }

  conversations(): Promise<{ sources: Conversation[]; chat: boolean }> {
    return this.#get("sources");
  }

  choose(id: string): void {
    this.#source = id;
  }

  held(after: number): Promise<HoldState> {
    return this.#get(`hold?after=${after}`);
  }

  async order(order: Order): Promise<HoldState> {
    return (await (await this.#fetch("hold", JSON.stringify(order))).json()) as HoldState;
  }

  async copy(as: "python" | "pytest", n: number): Promise<string> {
    return (await this.#get<{ text: string }>(`copy?as=${as}&n=${n}`)).text;
  }

  rows(after: number): Promise<Batch> {
    return this.#get(`rows?after=${after}`);
  }

  times(): Promise<Times> {
    return this.#get("times");
  }

  line(n: number): Promise<Line> {
    return this.#get(`line?n=${n}`);
  }

  search(query: string, after: number): Promise<{ rows: number[]; until: number }> {
    return this.#get(`search?q=${encodeURIComponent(query)}&after=${after}`);
  }

  async save(): Promise<void> {
    const answer = await this.#fetch("recording");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = "recording.jsonl";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  async #fetch(what: string, body?: string): Promise<Response> {
    const source = this.#source === "" ? "" : `${what.includes("?") ? "&" : "?"}source=${encodeURIComponent(this.#source)}`;
    const headers = { Authorization: `Bearer ${sessionStorage.getItem(TOKEN) ?? ""}` };
    const answer = await fetch(`/inspect/${what}${source}`, body === undefined ? { headers } : { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body });
    if (answer.status === 401) throw new LoginNeeded("This link was used already. The terminal gives another one; a token opens the page, too.");
    if (!answer.ok) throw new Error((await answer.text()).trim() || `the server answered ${answer.status}`);
    return answer;
  }

  async #get<T>(what: string): Promise<T> {
    return (await (await this.#fetch(what)).json()) as T;
  }
}

interface Embedded { batch: Batch; times: Times; lines: Line[]; copies: { python: string; pytest: string } }

/** The recording stands in the page itself. */
export class EmbeddedSource implements Source {
  #data: Embedded;
  /** In lower case, as far as somebody searched. */
  #bodies: string[] = [];

  constructor(text: string) {
    this.#data = JSON.parse(text) as Embedded;
  }

  async rows(after: number): Promise<Batch> {
    return { ...this.#data.batch, rows: after === 0 ? this.#data.batch.rows : [] };
  }

  async times(): Promise<Times> {
    return this.#data.times;
  }

  async line(n: number): Promise<Line> {
    return this.#data.lines[n - 1] ?? { line: null, notes: [] };
  }

  async copy(as: "python" | "pytest"): Promise<string> {
    return this.#data.copies[as];
  }

  async search(query: string, after: number): Promise<{ rows: number[]; until: number }> {
    const filter = parseFilter(query);
    const { rows, rules } = this.#data.batch;
    const holds = (row: Row): boolean => {
      if (!filter.tests.every((test) => test(row, rules[row.n] ?? []))) return false;
      const body = (this.#bodies[row.n] ??= JSON.stringify(this.#data.lines[row.n - 1]?.line ?? null).toLowerCase());
      return filter.words.every((word) => body.includes(word.text) === word.wanted);
    };
    return { rows: rows.slice(after).filter(holds).map((row) => row.n), until: rows.length };
  }
}
