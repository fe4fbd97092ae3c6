// The connection to the server that this page came from, and to no other: logs in, speaks, comes back by itself.
import { signal } from "../libraries";
import { now, setNow } from "../text/clock";
import { setHome } from "../text/times";
import { asList, asNumber, asObj, asText, isObj, type Json, type Obj, type Scope, type Switch, type Welcome } from "./types";

const TOKEN = "acpella.token";
const HANDSHAKE_MS = 10_000;
const STEADY_MS = 5_000;
const FIRST_DELAY = 1_000;
const LONGEST_DELAY = 30_000;

export class WireError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data: Json = null,
  ) {
    super(message);
  }
}

/** The connection broke before the answer came. */
export class Lost extends Error {}

export type Link =
  | { state: "starting" }
  | { state: "login"; why: string }
  | { state: "live" }
  | { state: "lost"; why: string; again: number; stderr: string }
  | { state: "over"; why: string };

type Waiting = { done: (result: Json) => void; failed: (error: Error) => void };

/** A frame that passed, for those who want to see the wire. */
export interface Passed {
  out: boolean;
  at: number;
  text: string;
  message: Obj;
}

/** The server answers, and says why it does not let the page in. */
class Unwilling extends Error {}

export class Connection {
  readonly link = signal<Link>({ state: "starting" });
  readonly welcome = signal<Welcome | null>(null);
  onNotification: (method: string, params: Obj) => void = () => {};
  onReady: () => void = () => {};
  onFrame: (frame: Passed) => void = () => {};

  #socket: WebSocket | null = null;
  #waiting = new Map<number, Waiting>();
  #next = 0;
  #delay = FIRST_DELAY;
  #attempting = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #steady: ReturnType<typeof setTimeout> | undefined;

  /** Log in with the code of the address if there is one; it leaves the address at once. */
  async start(): Promise<void> {
    const code = location.hash.slice(1);
    const session = new URLSearchParams(code).get("session");
    if (code && !session) {
      history.replaceState(null, "", location.pathname);
      const answer = await fetch("/acp/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }) });
      if (answer.ok) {
        sessionStorage.setItem(TOKEN, asText(asObj(await answer.json()).token));
      } else if (!sessionStorage.getItem(TOKEN)) {
        this.link.value = { state: "login", why: (await answer.text()).trim() };
        return;
      }
    }
    if (sessionStorage.getItem(TOKEN)) this.connect();
    else this.link.value = { state: "login", why: "" };
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.retry();
    });
  }

  /** Use a token that a person typed. */
  logIn(token: string): void {
    sessionStorage.setItem(TOKEN, token.trim());
    this.link.value = { state: "starting" };
    this.connect();
  }

  logOut(): void {
    sessionStorage.removeItem(TOKEN);
    this.#socket?.close(1000);
    this.link.value = { state: "login", why: "" };
  }

  /** Do not wait any longer for the next attempt. */
  retry(): void {
    if (this.link.value.state === "lost") this.connect();
  }

  async request(method: string, params: Obj): Promise<Json> {
    const socket = this.#socket;
    const isLive = this.link.value.state === "live" || method === "initialize";
    if (socket === null || socket.readyState !== WebSocket.OPEN || !isLive) throw new Lost("not connected");
    const id = ++this.#next;
    return new Promise((done, failed) => {
      this.#waiting.set(id, { done, failed });
      this.#send({ jsonrpc: "2.0", id, method, params });
    });
  }

  notify(method: string, params: Obj): void {
    this.#send({ jsonrpc: "2.0", method, params });
  }

  #send(message: Obj): void {
    const text = JSON.stringify(message);
    this.#socket?.send(text);
    this.onFrame({ out: true, at: performance.now(), text, message });
  }

  /** One attempt at a time: a second socket would take the answers of the first one's requests with it. */
  private connect(): void {
    if (this.#attempting) return;
    this.#attempting = true;
    clearTimeout(this.#timer);
    void this.#attempt().catch((error: unknown) => this.#lost(error instanceof Unwilling ? error.message : `Nothing answers at ${location.host}: is acpella still running there?`));
  }

  async #attempt(): Promise<void> {
    const token = sessionStorage.getItem(TOKEN) ?? "";
    const answer = await fetch("/acp/ticket", { method: "POST", headers: { Authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(HANDSHAKE_MS) });
    if ((sessionStorage.getItem(TOKEN) ?? "") !== token) {
      // somebody logged out, or in, meanwhile
      this.#attempting = false;
      if (sessionStorage.getItem(TOKEN)) this.connect();
      return;
    }
    if (answer.status === 401 || answer.status === 403) {
      sessionStorage.removeItem(TOKEN);
      this.#attempting = false;
      this.link.value = { state: "login", why: answer.status === 401 ? "The token does not count here, or not any more." : (await answer.text()).trim() };
      return;
    }
    if (!answer.ok) throw new Unwilling((await answer.text()).trim() || `the server said ${answer.status}`);
    const ticket = asText(asObj(await answer.json()).ticket);
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/acp`, ["acpella.page", `acpella.ticket.${ticket}`]);
    this.#socket?.close();
    this.#socket = socket;
    const limit = setTimeout(() => socket.close(), HANDSHAKE_MS);
    socket.onopen = () => {
      clearTimeout(limit);
      void this.#greet(socket);
    };
    socket.onmessage = (event) => this.#take(String(event.data));
    socket.onclose = (event) => {
      clearTimeout(limit);
      if (this.#socket === socket) this.#lost(event.reason);
    };
  }

  async #greet(socket: WebSocket): Promise<void> {
    try {
      this.takeWelcome(
        await this.request("initialize", {
          protocolVersion: 1,
          clientCapabilities: {},
          clientInfo: { name: "acpella-page", version: "1" },
          _meta: { acpella: { page: true } },
        }),
      );
      this.#attempting = false;
      this.link.value = { state: "live" };
      this.#steady = setTimeout(() => (this.#delay = FIRST_DELAY), STEADY_MS);
      this.onReady();
    } catch (error) {
      if (error instanceof WireError) {
        socket.onclose = null;
        socket.close();
        this.#lost(error.message, asText(asObj(error.data).stderr));
      }
    }
  }

  /** What the agent can do, and what the server says beside it. */
  takeWelcome(answer: Json): void {
    const result = asObj(answer);
    const mine = asObj(asObj(result._meta).acpella);
    this.welcome.value = {
      agentCapabilities: asObj(result.agentCapabilities),
      agentInfo: asObj(result.agentInfo),
      authMethods: asList(result.authMethods),
      user: asText(mine.user),
      scopes: asList(mine.scopes) as Scope[],
      agent: asText(mine.agent) || asText(asObj(result.agentInfo).title) || asText(asObj(result.agentInfo).name) || "the agent",
      cwd: asText(mine.cwd),
      inspector: mine.inspector === true,
      switches: asList(mine.switches) as unknown as Switch[],
      others: asList(mine.others) as unknown as Welcome["others"],
      keys: asList(mine.keys) as string[],
    };
    setHome(asText(mine.home));
    const time = asNumber(mine.now);
    if (time !== null) setNow(time);
  }

  #lost(why: string, stderr = ""): void {
    this.#attempting = false;
    clearTimeout(this.#steady);
    this.#socket = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const one of waiting) one.failed(new Lost(why || "the connection is lost"));
    if (this.link.value.state === "login") return;
    const delay = this.#delay * (0.75 + Math.random() / 2);
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY);
    this.link.value = { state: "lost", why, again: now() + delay, stderr };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.connect(), delay);
  }

  #take(text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return;
    }
    if (!isObj(message)) return;
    this.onFrame({ out: false, at: performance.now(), text, message });
    if (typeof message.method === "string") {
      if (message.id === undefined) this.onNotification(message.method, asObj(message.params));
      else this.#send({ jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "pages answer through the log" } });
      return;
    }
    const waiting = typeof message.id === "number" ? this.#waiting.get(message.id) : undefined;
    if (waiting === undefined) return;
    this.#waiting.delete(message.id as number);
    if (message.error !== undefined) {
      const error = asObj(message.error);
      waiting.failed(new WireError(Number(error.code ?? 0), asText(error.message), error.data ?? null));
    } else waiting.done(message.result ?? null);
  }
}
