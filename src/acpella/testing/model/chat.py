"""OpenAI's chat completions, which most providers and local servers speak too."""

import json
import time
from collections.abc import Iterator

from acpella._plain_json import as_dict

from .prompts import Json, ModelAnswer, ModelPrompt, OfferedTool, ServerEvent, ToolUse, answer_numbers
from .reading import list_of_objects, text_of, words_of_user

__all__ = ["ChatCompletions"]

_USAGE: Json = {"prompt_tokens": 11, "completion_tokens": 4, "total_tokens": 15}


class ChatCompletions:
    """`POST …/chat/completions`."""

    def __init__(self, body: Json) -> None:
        prompt, results = "", list[str]()
        for message in list_of_objects(body.get("messages")):
            if message.get("role") == "user" and (text := words_of_user(message.get("content"))):
                prompt, results = text, []
            elif message.get("role") == "tool":
                results.append(text_of(message.get("content")))
        functions = [as_dict(tool.get("function")) for tool in list_of_objects(body.get("tools"))]
        tools = [OfferedTool(str(f.get("name", "")), as_dict(f.get("parameters"))) for f in functions]
        self.prompt: ModelPrompt = ModelPrompt(str(body.get("model", "fake")), prompt, results, tools)
        self.streamed: bool = bool(body.get("stream"))
        self._id = f"chatcmpl-{next(answer_numbers)}"

    def stream(self, answer: ModelAnswer) -> Iterator[ServerEvent]:
        yield self._chunk({"role": "assistant", "content": ""})
        if answer.thought:
            yield self._chunk({"reasoning_content": answer.thought})
        for word in answer.words():
            yield self._chunk({"content": word})
        if answer.use is not None:
            yield self._chunk({"tool_calls": [self._call(answer.use)]})
        yield self._chunk({}, "tool_calls" if answer.use else "stop")
        yield "", {**self._envelope("chat.completion.chunk", []), "usage": _USAGE}
        yield "", "[DONE]"

    def whole(self, answer: ModelAnswer) -> Json:
        message: Json = {"role": "assistant", "content": "".join(answer.words())}
        if answer.thought:
            message["reasoning_content"] = answer.thought
        if answer.use is not None:
            message["tool_calls"] = [self._call(answer.use)]
        finish = "tool_calls" if answer.use else "stop"
        choices: list[Json] = [{"index": 0, "message": message, "finish_reason": finish}]
        return {**self._envelope("chat.completion", choices), "usage": _USAGE}

    def _envelope(self, kind: str, choices: list[Json]) -> Json:
        head = {"id": self._id, "object": kind, "created": int(time.time()), "model": self.prompt.model}
        return {**head, "choices": choices}

    def _chunk(self, delta: Json, finish: str | None = None) -> ServerEvent:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return "", self._envelope("chat.completion.chunk", [choice])

    def _call(self, use: ToolUse) -> Json:
        function = {"name": use.name, "arguments": json.dumps(use.arguments)}
        return {"index": 0, "id": use.id, "type": "function", "function": function}
