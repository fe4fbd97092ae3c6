// A remote agent on the official TypeScript SDK; what it does is what server_official.py does.
import { createServer } from "node:http";
import * as acp from "@agentclientprotocol/sdk";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { createNodeHttpHandler, createNodeWebSocketUpgradeHandler } from "@agentclientprotocol/sdk/experimental/node";
import { WebSocketServer } from "ws";

const { methods } = acp;
const said = new Map();

function createAgent() {
  let cancel = () => {};
  const cancelled = new Promise((resolve) => (cancel = resolve));

  async function send(client, sessionId, text) {
    await client.notify(methods.client.session.update, {
      sessionId,
      update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
    });
  }

  async function prompt({ params, client }) {
    const { sessionId } = params;
    const say = async (text) => {
      said.get(sessionId).push(text);
      await send(client, sessionId, text);
    };
    const text = params.prompt[0].text;
    const [verb, rest] = [text.split(" ")[0], text.slice(text.indexOf(" ") + 1)];
    if (verb === "ask") {
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
    } else if (verb === "count") {
      for (let number = 0; number < Number(rest); number++) await say(`${number} `);
    } else {
      for (const word of text.split(" ")) await say(word);
    }
    return { stopReason: "end_turn" };
  }

  async function load({ params, client }) {
    for (const text of [...said.get(params.sessionId)]) await send(client, params.sessionId, text);
    return {};
  }

  return acp
    .agent({ name: "interop" })
    .onRequest(methods.agent.initialize, ({ params }) => ({
      protocolVersion: params.protocolVersion,
      agentCapabilities: { loadSession: true },
    }))
    .onRequest(methods.agent.session.new, () => {
      const sessionId = `s${said.size + 1}`;
      said.set(sessionId, []);
      return { sessionId };
    })
    .onRequest(methods.agent.session.load, load)
    .onRequest(methods.agent.session.prompt, prompt)
    .onNotification(methods.agent.session.cancel, () => cancel());
}

const server = new AcpServer({ createAgent });
const http = createServer(createNodeHttpHandler(server));
http.on("upgrade", createNodeWebSocketUpgradeHandler(server, new WebSocketServer({ noServer: true })));
http.listen(0, "127.0.0.1", () => console.log(http.address().port));
