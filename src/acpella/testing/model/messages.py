"""Anthropic's messages."""

import json
from collections.abc import Iterator

from acpella._plain_json import as_dict

from .prompts import Json, ModelAnswer, ModelPrompt, OfferedTool, ServerEvent, answer_numbers
from .reading import list_of_objects, text_of, words_of_user

__all__ = ["Messages"]


class Messages:
    """`POST …/messages`."""

    def __init__(self, body: Json) -> None:
        prompt, results = "", list[str]()
        for message in list_of_objects(body.get("messages")):
            if message.get("role") != "user":
                continue
            content = message.get("content")
            blocks = (
                [{"type": "text", "text": content}] if isinstance(content, str) else list_of_objects(content)
            )
            texts: list[Json] = []
            for block in blocks:
                if block.get("type") == "tool_result":
                    results.append(text_of(block.get("content")))
                elif block.get("type") == "text":
                    texts.append(block)
            if text := words_of_user(texts):
                prompt, results = text, []
        tools = [
            OfferedTool(str(tool.get("name", "")), as_dict(tool.get("input_schema")))
            for tool in list_of_objects(body.get("tools"))
        ]
        self.prompt: ModelPrompt = ModelPrompt(str(body.get("model", "fake")), prompt, results, tools)
        self.streamed: bool = bool(body.get("stream"))
        self._id = f"msg_{next(answer_numbers)}"

    def stream(self, answer: ModelAnswer) -> Iterator[ServerEvent]:
        yield "message_start", {"message": self._message([], None)}
        index = 0
        if answer.thought:
            empty = {"type": "thinking", "thinking": "", "signature": ""}
            thinking = {"type": "thinking_delta", "thinking": answer.thought}
            signature = {"type": "signature_delta", "signature": "none"}
            yield from self._block(index, empty, iter([thinking, signature]))
            index += 1
        if answer.speaks:
            words: Iterator[Json] = ({"type": "text_delta", "text": word} for word in answer.words())
            yield from self._block(index, {"type": "text", "text": ""}, words)
            index += 1
        if answer.use is not None:
            block: Json = {"type": "tool_use", "id": answer.use.id, "name": answer.use.name, "input": {}}
            piece = {"type": "input_json_delta", "partial_json": json.dumps(answer.use.arguments)}
            yield from self._block(index, block, iter([piece]))
        stop = {"stop_reason": "tool_use" if answer.use else "end_turn", "stop_sequence": None}
        yield "message_delta", {"delta": stop, "usage": {"output_tokens": 4}}
        yield "message_stop", {}

    def whole(self, answer: ModelAnswer) -> Json:
        content: list[Json] = []
        if answer.thought:
            content.append({"type": "thinking", "thinking": answer.thought, "signature": "none"})
        if text := "".join(answer.words()):
            content.append({"type": "text", "text": text})
        if (use := answer.use) is not None:
            content.append({"type": "tool_use", "id": use.id, "name": use.name, "input": use.arguments})
        return self._message(content, "tool_use" if answer.use else "end_turn")

    def _message(self, content: list[Json], stop: str | None) -> Json:
        head = {"id": self._id, "type": "message", "role": "assistant"}
        end = {"stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 11, "output_tokens": 4}}
        return {**head, "model": self.prompt.model, "content": content, **end}

    def _block(self, index: int, empty: Json, deltas: Iterator[Json]) -> Iterator[ServerEvent]:
        yield "content_block_start", {"index": index, "content_block": empty}
        for delta in deltas:
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
