"""OpenAI's responses."""

import json
import time
from collections.abc import Iterator

from acpella._plain_json import as_dict

from .prompts import Json, ModelAnswer, ModelPrompt, OfferedTool, ServerEvent, answer_numbers
from .reading import list_of_objects, text_of, words_of_user

__all__ = ["Responses"]

_USAGE: Json = {
    "input_tokens": 11,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 4,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 15,
}


class Responses:
    """`POST …/responses`."""

    def __init__(self, body: Json) -> None:
        body_input = body.get("input")
        items = (
            [{"role": "user", "content": body_input}]
            if isinstance(body_input, str)
            else list_of_objects(body_input)
        )
        prompt, results = "", list[str]()
        for item in items:
            if item.get("role") == "user" and (text := words_of_user(item.get("content"))):
                prompt, results = text, []
            elif item.get("type") in ("function_call_output", "custom_tool_call_output"):
                results.append(text_of(item.get("output")))
        tools = [
            OfferedTool(
                str(tool.get("name", "")),
                as_dict(tool.get("parameters")),
                freeform=tool.get("type") == "custom",
            )
            for tool in list_of_objects(body.get("tools"))
            if tool.get("type") in ("function", "custom")
        ]
        self.prompt: ModelPrompt = ModelPrompt(str(body.get("model", "fake")), prompt, results, tools)
        self.streamed: bool = bool(body.get("stream"))
        self._number = next(answer_numbers)

    def stream(self, answer: ModelAnswer) -> Iterator[ServerEvent]:
        yield "response.created", {"response": self._response([], "in_progress")}
        text = "…" if answer.speaks else ""
        for index, item in enumerate(self._output(answer, text, "in_progress")):
            place: Json = {"item_id": item["id"], "output_index": index}
            empty: Json = {key: [] if isinstance(value, list) else value for key, value in item.items()}
            yield "response.output_item.added", {"output_index": index, "item": empty}
            if item["type"] == "reasoning":
                delta = {**place, "summary_index": 0, "delta": answer.thought}
                yield "response.reasoning_summary_text.delta", delta
            elif item["type"] == "message":
                text = ""
                for word in answer.words():
                    text += word
                    yield "response.output_text.delta", {**place, "content_index": 0, "delta": word}
            elif item["type"] == "function_call":
                yield "response.function_call_arguments.delta", {**place, "delta": item["arguments"]}
                yield "response.function_call_arguments.done", {**place, "arguments": item["arguments"]}
            done = self._output(answer, text or ("…" if answer.speaks else ""))[index]
            yield "response.output_item.done", {"output_index": index, "item": done}
        yield "response.completed", {"response": self._response(self._output(answer, text), "completed")}

    def whole(self, answer: ModelAnswer) -> Json:
        return self._response(self._output(answer, "".join(answer.words())), "completed")

    def _output(self, answer: ModelAnswer, text: str, status: str = "completed") -> list[Json]:
        output: list[Json] = []
        if answer.thought:
            summary = [{"type": "summary_text", "text": answer.thought}]
            output.append({"type": "reasoning", "id": f"rs_{self._number}", "summary": summary})
        if text:
            content: list[Json] = [{"type": "output_text", "text": text, "annotations": []}]
            head = {"type": "message", "id": f"msg_{self._number}", "role": "assistant", "status": status}
            output.append({**head, "content": content})
        use = answer.use
        if use is not None and isinstance(use.arguments, str):
            head = {
                "type": "custom_tool_call",
                "id": f"ctc_{self._number}",
                "call_id": use.id,
                "status": status,
            }
            output.append({**head, "name": use.name, "input": use.arguments})
        elif use is not None:
            head = {"type": "function_call", "id": f"fc_{self._number}", "call_id": use.id, "status": status}
            output.append({**head, "name": use.name, "arguments": json.dumps(use.arguments)})
        return output

    def _response(self, output: list[Json], status: str) -> Json:
        head = {
            "id": f"resp_{self._number}",
            "object": "response",
            "created_at": int(time.time()),
            "status": status,
        }
        usage = _USAGE if status == "completed" else None
        return {**head, "model": self.prompt.model, "output": output, "usage": usage}
