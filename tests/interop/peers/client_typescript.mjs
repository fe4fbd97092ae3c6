// Drives any agent with the official TypeScript SDK; steps and events are those of client_official.py.
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const { methods } = acp;
const [steps, ...command] = [JSON.parse(process.argv[2]), ...process.argv.slice(3)];
let cancelOn = "";
let choice = "allow_once";
let agent;

const tell = (event) => console.log(JSON.stringify(event));

// Over HTTP, the answer to a load comes on another stream than its updates, and may be there first.
let awaited = { text: "", arrived: () => {} };
const arrival = (text) => text && new Promise((arrived) => (awaited = { text, arrived }));

async function onUpdate({ params }) {
  tell({ event: "update", update: params.update });
  if (awaited.text && JSON.stringify(params.update).includes(awaited.text)) awaited.arrived();
  if (cancelOn && JSON.stringify(params.update).includes(cancelOn)) {
    await agent.notify(methods.agent.session.cancel, { sessionId: params.sessionId });
  }
}

function onPermission({ params }) {
  tell({ event: "permission", title: params.toolCall.title, kinds: params.options.map((option) => option.kind) });
  const chosen = params.options.find((option) => option.kind === choice);
  return { outcome: { outcome: "selected", optionId: chosen.optionId } };
}

async function onRead({ params }) {
  tell({ event: "read", path: params.path });
  return { content: await readFile(params.path, "utf8") };
}

async function onWrite({ params }) {
  tell({ event: "write", path: params.path });
  await writeFile(params.path, params.content);
  return {};
}

async function connect() {
  const url = command[0];
  if (url.startsWith("http")) {
    const { createHttpStream } = await import("@agentclientprotocol/sdk/experimental/http-client");
    const connection = client.connect(createHttpStream(url));
    return { connection, end: async () => connection.close() };
  }
  if (url.startsWith("ws")) {
    const { createWebSocketStream } = await import("@agentclientprotocol/sdk/experimental/ws-client");
    const connection = client.connect(createWebSocketStream(url));
    return { connection, end: async () => connection.close() };
  }
  const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
  const connection = client.connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
  const end = async () => {
    child.stdin.end();
    await new Promise((resolve) => child.on("exit", resolve));
  };
  return { connection, end };
}

const client = acp
  .client({ name: "interop" })
  .onNotification(methods.client.session.update, onUpdate)
  .onRequest(methods.client.session.requestPermission, onPermission)
  .onRequest(methods.client.fs.readTextFile, onRead)
  .onRequest(methods.client.fs.writeTextFile, onWrite);

async function hello() {
  const opened = await connect();
  agent = opened.connection.agent;
  const clientCapabilities = { fs: { readTextFile: true, writeTextFile: true } };
  const answer = await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities });
  tell({ event: "initialized", ...answer });
  return opened.end;
}

let end = await hello();
let sessionId = "";
for (const step of steps) {
  cancelOn = step.cancel_on ?? "";
  choice = step.answer ?? "allow_once";
  const cwd = step.cwd ?? process.cwd();
  if (step.do === "new") {
    const made = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
    sessionId = made.sessionId;
    tell({ event: "new", ...made });
  } else if (step.do === "load") {
    const updates = arrival(step.until);
    await agent.request(methods.agent.session.load, { cwd, sessionId, mcpServers: [] });
    tell({ event: "loaded" });
    await updates;
  } else if (step.do === "list") {
    const listed = await agent.request(methods.agent.session.list, { cwd });
    tell({ event: "list", ids: listed.sessions.map((one) => one.sessionId) });
  } else if (step.do === "mode") {
    await agent.request(methods.agent.session.setMode, { sessionId, modeId: step.mode });
    tell({ event: "mode_set" });
  } else if (step.do === "prompt") {
    const prompt = [{ type: "text", text: step.text }];
    const answer = await agent.request(methods.agent.session.prompt, { sessionId, prompt });
    await new Promise((resolve) => setTimeout(resolve, 50)); // the SDK answers before it has told all updates
    tell({ event: "stop", reason: answer.stopReason });
  } else if (step.do === "again") {
    await end();
    end = await hello();
  }
}
await end();
process.exit(0);
