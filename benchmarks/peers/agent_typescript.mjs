// The benchmark agent on the official TypeScript SDK; the orders are those of _agent.py.
import { Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { acp, cpuSeconds, image } from "./_sdk.mjs";

const { methods } = acp;
const FILE_PATH = "/workspace/settings.toml";

async function stream(client, sessionId, count) {
  for (let number = 0; number < count; number++) {
    await sendText(client, sessionId, number);
  }
}

async function yielding(client, sessionId, count) {
  for (let number = 0; number < count; number++) {
    await sendText(client, sessionId, number);
    await setImmediate();
  }
}

async function roundtrip(client, sessionId, count) {
  const times = [];
  for (let number = 0; number < count; number++) {
    const start = performance.now();
    await client.request(methods.client.fs.readTextFile, { sessionId, path: FILE_PATH });
    times.push((performance.now() - start) / 1e3);
  }
  const mean = times.reduce((sum, time) => sum + time, 0) / count;
  return { p50: times.sort((a, b) => a - b)[Math.floor(count / 2)], mean };
}

async function sendImage(client, sessionId, size) {
  await sendChunk(client, sessionId, { type: "image", data: image(size), mimeType: "image/png" });
}

function sendText(client, sessionId, number) {
  return sendChunk(client, sessionId, { type: "text", text: `token ${number} ` });
}

function sendChunk(client, sessionId, content) {
  const update = { sessionUpdate: "agent_message_chunk", content };
  return client.notify(methods.client.session.update, { sessionId, update });
}

const turns = { stream, yield: yielding, roundtrip, image: sendImage, ping: async () => {} };
let sessions = 0;

async function prompt({ params, client }) {
  const [word, number] = params.prompt[0].text.split(" ");
  const cpu = cpuSeconds();
  const measured = await turns[word](client, params.sessionId, Number(number ?? 0));
  return { stopReason: "end_turn", _meta: { cpu: cpuSeconds() - cpu, ...measured } };
}

const connection = acp
  .agent({ name: "benchmark" })
  .onRequest(methods.agent.initialize, ({ params }) => ({ protocolVersion: params.protocolVersion }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: `session-${++sessions}` }))
  .onRequest(methods.agent.session.prompt, prompt)
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
await connection.closed;
