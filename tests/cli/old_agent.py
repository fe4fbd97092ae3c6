"""An agent that lists its models in the older format, with modes whose ids are URLs (FIELD-NOTES 8)."""

import json
import sys

MODES = {
    "currentModeId": "https://example.com/modes#ask",
    "availableModes": [
        {"id": "https://example.com/modes#ask", "name": "Ask"},
        {"id": "https://example.com/modes#do", "name": "Do"},
    ],
}
MODELS = {
    "currentModelId": "auto",
    "availableModels": [{"modelId": "auto", "name": "Automatic"}, {"modelId": "big", "name": "Big one"}],
}
model = "auto"


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


print("a banner that is no message", flush=True)
for line in sys.stdin:
    request = json.loads(line)
    result = {}
    match request.get("method"):
        case "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": [{"id": 7}]}  # no name
        case "session/new":
            result = {"sessionId": "s1", "modes": MODES, "models": MODELS}
        case "session/set_model":
            model = request["params"]["modelId"]
        case "session/prompt":
            for text in ("**by ", f"{model}**"):
                update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
                send(method="session/update", params={"sessionId": "s1", "update": update})
                print("a line of its log" * (text == "**by "), flush=True)
            for number in range(1000 if "flood" in line else 0):
                print("noise", number)
            # a call that was never announced (FIELD-NOTES 3)
            update = {"sessionUpdate": "tool_call_update", "toolCallId": "t9", "status": "completed"}
            send(method="session/update", params={"sessionId": "s1", "update": update})
            result = {"stopReason": "end_turn"}
    if "id" in request:
        send(id=request["id"], result=result)
