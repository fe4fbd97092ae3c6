// The official TypeScript SDK as a client in a browser: talks to the server over its own WebSocket stream.
import * as acp from "@agentclientprotocol/sdk";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";

const { methods } = acp;

globalThis.converse = async (url, ticket, cwd, prompts) => {
  const said = [];
  const asked = [];
  const client = acp
    .client({ name: "browser" })
    .onNotification(methods.client.session.update, ({ params }) => {
      if (params.update.sessionUpdate === "agent_message_chunk") said.push(params.update.content.text);
    })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      asked.push(params.toolCall.title);
      const chosen = params.options.find((option) => option.kind === "allow_once");
      return { outcome: { outcome: "selected", optionId: chosen.optionId } };
    });
  const connection = client.connect(createWebSocketStream(url, { protocols: [`acpella.ticket.${ticket}`] }));
  const agent = connection.agent;
  const hello = await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
  const stops = [];
  for (const text of prompts) {
    const answer = await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    stops.push(answer.stopReason);
  }
  connection.close();
  return { name: hello.agentInfo?.name, sessionId, stops, asked, said: said.join("") };
};
