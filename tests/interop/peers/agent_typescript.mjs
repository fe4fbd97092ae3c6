// An agent on the official TypeScript SDK; what it does is what agent_official.py does.
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const { methods } = acp;
let cancel = () => {};
const cancelled = new Promise((resolve) => (cancel = resolve));

async function prompt({ params, client }) {
  const { sessionId } = params;
  const say = (text) =>
    client.notify(methods.client.session.update, {
      sessionId,
      update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
    });
  const text = params.prompt[0].text;
  const [verb, rest] = [text.split(" ")[0], text.slice(text.indexOf(" ") + 1)];
  if (verb === "read") {
    await say((await client.request(methods.client.fs.readTextFile, { sessionId, path: rest })).content);
  } else if (verb === "ask") {
    const answer = await client.request(methods.client.session.requestPermission, {
      sessionId,
      toolCall: { toolCallId: "t1", title: rest },
      options: [{ optionId: "x-allow", name: "Go", kind: "allow_once" }],
    });
    await say(answer.outcome.outcome);
  } else if (verb === "wait") {
    await say("waiting");
    await cancelled;
    return { stopReason: "cancelled" };
  } else {
    for (const word of text.split(" ")) {
      await say(word);
    }
  }
  return { stopReason: "end_turn" };
}

acp
  .agent({ name: "interop" })
  .onRequest(methods.agent.initialize, ({ params }) => ({ protocolVersion: params.protocolVersion }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: "s1" }))
  .onRequest(methods.agent.session.prompt, prompt)
  .onNotification(methods.agent.session.cancel, () => cancel())
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
