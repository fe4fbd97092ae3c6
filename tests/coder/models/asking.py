"""Models that ask the fake provider, and what they said."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from acpella.coder.models import Message, Model, ModelEvent, ModelRequest, Text, ToolSpec, UserMessage
from acpella.coder.models.model_names import open_model
from acpella.coder.models.model_server import ModelLimits
from coder.fake_provider import FakeProvider

KEY = "sk-test-0123456789abcdefghij"

APIS = ["anthropic", "compatible"]
"""Both adapters; "compatible" is the OpenAI one."""

READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def model_of(api: str, provider: FakeProvider, *, name: str = "test", **limits: Any) -> Model:
    environment = {
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": provider.url,
        "ACPELLA_COMPATIBLE_API_KEY": KEY,
        "ACPELLA_COMPATIBLE_BASE_URL": f"{provider.url}/v1",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{provider.url}/v1",
        "GEMINI_API_KEY": KEY,
        "GEMINI_BASE_URL": f"{provider.url}/v1",
    }
    return open_model(
        f"{api}:{name}", environment, limits=ModelLimits(**{"backoff": 0.01, "ending": 0.2, **limits})
    )


def request(*messages: Message | str, **fields: Any) -> ModelRequest:
    said: Sequence[Message] = [
        UserMessage([Text(m)]) if isinstance(m, str) else m for m in messages or ("hi",)
    ]
    return ModelRequest(system="You help.", messages=list(said), **fields)


async def asked(model: Model, asking: ModelRequest | None = None) -> list[ModelEvent]:
    async with asyncio.timeout(15), aclosing(model.stream(asking or request())) as events:
        return [event async for event in events]


def of(events: Sequence[ModelEvent], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def joined(events: Sequence[ModelEvent], kind: type) -> str:
    return "".join(event.text for event in of(events, kind))
