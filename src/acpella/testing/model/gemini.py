"""Google's generateContent."""

import json
from collections.abc import Iterator

from acpella._plain_json import as_dict

from .prompts import Json, ModelAnswer, ModelPrompt, OfferedTool, ServerEvent
from .reading import list_of_objects, words_of_user

__all__ = ["GenerateContent"]

_ANSWER_TO_ITSELF: Json = {
    "reasoning": "none",
    "next_speaker": "user",
    "model_choice": "flash",
    "complexity_score": 1,
}
"""What gemini-cli gets when it asks for JSON: who speaks next, which model to take."""


class GenerateContent:
    """`POST …:generateContent` and `…:streamGenerateContent`."""

    def __init__(self, body: Json, *, streamed: bool) -> None:
        prompt, results = "", list[str]()
        for content in list_of_objects(body.get("contents")):
            if content.get("role") == "model":
                continue
            parts = list_of_objects(content.get("parts"))
            responses = [
                json.dumps(as_dict(part["functionResponse"]).get("response"))
                for part in parts
                if "functionResponse" in part
            ]
            results.extend(responses)
            if not responses and (text := words_of_user(parts)):
                prompt, results = text, []
        tools = [
            OfferedTool(
                str(declared.get("name", "")),
                as_dict(declared.get("parametersJsonSchema") or declared.get("parameters")),
            )
            for group in list_of_objects(body.get("tools"))
            for declared in list_of_objects(group.get("functionDeclarations"))
        ]
        self.prompt: ModelPrompt = ModelPrompt("fake", prompt, results, tools)
        self.streamed = streamed
        mime_type = as_dict(body.get("generationConfig")).get("responseMimeType")
        self._asks_itself = mime_type == "application/json"

    def stream(self, answer: ModelAnswer) -> Iterator[ServerEvent]:
        if answer.thought:
            yield "", self._parts([{"text": answer.thought, "thought": True}])
        for word in answer.words():
            yield "", self._parts([{"text": word}])
        yield "", self._parts(self._use(answer), "STOP")

    def whole(self, answer: ModelAnswer) -> Json:
        if self._asks_itself:
            return self._parts([{"text": json.dumps(_ANSWER_TO_ITSELF)}], "STOP")
        thought: list[Json] = [{"text": answer.thought, "thought": True}] if answer.thought else []
        return self._parts([*thought, {"text": "".join(answer.words())}, *self._use(answer)], "STOP")

    def _parts(self, parts: list[Json], finish: str | None = None) -> Json:
        candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
        if finish:
            candidate["finishReason"] = finish
        usage = {"promptTokenCount": 11, "candidatesTokenCount": 4, "totalTokenCount": 15}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}

    def _use(self, answer: ModelAnswer) -> list[Json]:
        if answer.use is None:
            return [{"text": ""}]
        return [{"functionCall": {"name": answer.use.name, "args": answer.use.arguments}}]
