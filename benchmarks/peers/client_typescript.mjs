// The benchmark client on the official TypeScript SDK; cases, arguments and output are those of _client.py.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { acp, cpuSeconds, image } from "./_sdk.mjs";

const { methods } = acp;
const IMAGES = 5; // as in _client.py
const FILE_TEXT = "name = 'acpella'\n".repeat(10);
const updates = new Map();
let characters = 0;

function onUpdate({ params }) {
  const { sessionId, update } = params;
  updates.set(sessionId, (updates.get(sessionId) ?? 0) + 1);
  characters += (update.content.type === "text" ? update.content.text : update.content.data).length;
}

/** Wait until the session got its updates: the SDK answers a prompt while some are still on their way to the handler. */
async function arrived(sessionId, count) {
  while ((updates.get(sessionId) ?? 0) < count) {
    await setImmediate();
  }
  if (updates.get(sessionId) !== count) {
    throw new Error(`session ${sessionId} got ${updates.get(sessionId)} updates instead of ${count}`);
  }
  updates.delete(sessionId);
}

class Driver {
  constructor(agent) {
    this.agent = agent;
  }

  async openSession() {
    const answer = await this.agent.request(methods.agent.session.new, { cwd: "/workspace", mcpServers: [] });
    return answer.sessionId;
  }

  /** Send the text and maybe an image; the `_meta` of the answer, after so many updates were handled. */
  async prompt(sessionId, text, { count = 0, data } = {}) {
    const blocks = [{ type: "text", text }];
    if (data) {
      blocks.push({ type: "image", data, mimeType: "image/png" });
    }
    const answer = await this.agent.request(methods.agent.session.prompt, { sessionId, prompt: blocks });
    if (count) {
      await arrived(sessionId, count);
    }
    return answer._meta;
  }
}

async function stream(driver, size, word = "stream") {
  const count = Number(size);
  const sessionId = await driver.openSession();
  const before = characters;
  const cpu = cpuSeconds();
  const start = performance.now();
  const meta = await driver.prompt(sessionId, `${word} ${count}`, { count });
  const seconds = (performance.now() - start) / 1e3;
  const clientCpu = cpuSeconds() - cpu;
  checkText(characters - before, count);
  return {
    seconds,
    updates_per_second: count / seconds,
    client_cpu_us: (clientCpu / count) * 1e6,
    agent_cpu_us: (meta.cpu / count) * 1e6,
  };
}

function checkText(got, count) {
  let sent = 0;
  for (let number = 0; number < count; number++) {
    sent += `token ${number} `.length;
  }
  if (got !== sent) {
    throw new Error("the text of the updates is not what was sent");
  }
}

async function roundtrip(driver, size) {
  const sessionId = await driver.openSession();
  const cpu = cpuSeconds();
  const meta = await driver.prompt(sessionId, `roundtrip ${size}`);
  return {
    p50_us: meta.p50 * 1e6,
    mean_us: meta.mean * 1e6,
    client_cpu_us: ((cpuSeconds() - cpu) / Number(size)) * 1e6,
    agent_cpu_us: (meta.cpu / Number(size)) * 1e6,
  };
}

async function images(driver, size) {
  const sessionId = await driver.openSession();
  const data = image(Number(size));
  const toAgent = [];
  const toClient = [];
  for (let number = 0; number < IMAGES; number++) {
    toAgent.push(await milliseconds(driver.prompt(sessionId, "ping", { data })));
  }
  const before = characters;
  for (let number = 0; number < IMAGES; number++) {
    toClient.push(await milliseconds(driver.prompt(sessionId, `image ${size}`, { count: 1 })));
  }
  if (characters - before !== IMAGES * data.length) {
    throw new Error("an image arrived shortened");
  }
  return { to_agent_ms: median(toAgent), to_client_ms: median(toClient) };
}

async function fairness(driver, size) {
  const [sessions, count] = size.split("x").map(Number);
  const alone = await stream(driver, sessions * count);
  const sessionIds = [];
  for (let number = 0; number < sessions; number++) {
    sessionIds.push(await driver.openSession());
  }
  const start = performance.now();
  const ended = async (sessionId) => {
    await driver.prompt(sessionId, `stream ${count}`, { count });
    return (performance.now() - start) / 1e3;
  };
  const times = await Promise.all(sessionIds.map(ended));
  const slowest = Math.max(...times);
  const mean = times.reduce((sum, time) => sum + time, 0) / sessions;
  return {
    seconds: slowest,
    updates_per_second: (sessions * count) / slowest,
    one_session_seconds: alone.seconds,
    to_one_session: slowest / alone.seconds,
    slowest_to_mean: slowest / mean,
  };
}

async function milliseconds(answer) {
  const start = performance.now();
  await answer;
  return performance.now() - start;
}

function median(values) {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

const cases = { stream, yield: (driver, size) => stream(driver, size, "yield"), roundtrip, image: images, fairness };
const [name, size, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const messages = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const app = acp
  .client({ name: "benchmark" })
  .onNotification(methods.client.session.update, onUpdate)
  .onRequest(methods.client.fs.readTextFile, () => ({ content: FILE_TEXT }));
const measured = await app.connectWith(messages, async (agent) => {
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  return cases[name](new Driver(agent), size);
});
child.stdin.end();
child.kill();
process.stdout.write(JSON.stringify(measured) + "\n", () => process.exit(0));
