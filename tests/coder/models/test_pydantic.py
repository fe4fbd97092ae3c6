"""Other models, through pydantic-ai and its own models for tests (E8)."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import BinaryContent, ModelMessage, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel

from acpella.coder.models import (
    AssistantMessage,
    ContextOverflow,
    Image,
    ModelError,
    ModelUsage,
    Stop,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolMessage,
    ToolUse,
    ToolUseStarted,
    UserMessage,
)
from acpella.coder.models.model_names import open_model
from acpella.coder.models.pydantic import PydanticModel
from coder.models.asking import READ, asked, joined, of, request

pytestmark = pytest.mark.anyio


def model_that(function: Any) -> PydanticModel:
    return PydanticModel(FunctionModel(stream_function=function, model_name="tested"))


async def test_a_model_of_pydantic_ai_answers() -> None:
    model = PydanticModel(TestModel(custom_output_text="hello there"))
    events = await asked(model)
    assert joined(events, TextDelta) == "hello there"
    assert of(events, ModelUsage)[-1].input > 0
    assert events[-1] == Stop("end")


async def test_it_is_named_by_its_own_name() -> None:
    model = open_model("pydantic:test", {})
    assert model.name == "pydantic:test"
    assert joined(await asked(model), TextDelta)


async def test_tools_and_thoughts_are_streamed() -> None:
    async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        assert [tool.name for tool in info.function_tools] == ["read_file"]
        yield {0: DeltaThinkingPart(content="let me ")}
        yield {0: DeltaThinkingPart(content="see")}
        yield {1: DeltaToolCall(name="read_file", json_args='{"pa', tool_call_id="x")}
        yield {1: DeltaToolCall(json_args='th": "ä"}')}
        yield {2: DeltaToolCall(name="read_file", json_args='{"broken', tool_call_id="y")}

    events = await asked(model_that(answer), request(tools=[READ], thinking="low"))
    assert joined(events, ThinkingDelta) == "let me see"
    assert [use.id for use in of(events, ToolUseStarted)] == ["x", "y"]
    good, bad = of(events, ToolUse)
    assert good == ToolUse("x", "read_file", {"path": "ä"})
    assert bad.invalid and bad.arguments == {}
    assert events[-1] == Stop("tool_use")


async def test_the_conversation_is_handed_over() -> None:
    seen: list[ModelMessage] = []

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        seen.extend(messages)
        yield "ok"

    said = AssistantMessage(
        [Thinking("hm", "pydantic:p:sig"), Text("I look."), ToolUse("a", "read_file", {"path": "x"})]
    )
    image = Image("aGk=", "image/png")
    history = [
        UserMessage([Text("look"), image]),
        said,
        ToolMessage("a", [Text("one"), image]),
        UserMessage([Text("so?")]),
    ]
    await asked(model_that(answer), request(*history))
    first, response, last = seen
    assert [part.part_kind for part in first.parts] == ["system-prompt", "user-prompt"]
    assert [part.part_kind for part in response.parts] == ["thinking", "text", "tool-call"]
    result, picture, text = last.parts
    assert isinstance(result, ToolReturnPart) and (result.tool_name, result.content) == ("read_file", "one")
    assert isinstance(picture, UserPromptPart) and isinstance(picture.content[0], BinaryContent)
    assert isinstance(text, UserPromptPart)


async def test_errors_of_providers_are_told() -> None:
    async def overflow(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        raise ModelHTTPError(400, "tested", {"message": "maximum context length is 10 tokens"})
        yield ""

    async def busy(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        raise ModelHTTPError(503, "tested", {"message": "busy, Authorization: Bearer abcdefgh"})
        yield ""

    async def broken(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "half"
        raise OSError("gone")

    with pytest.raises(ContextOverflow):
        await asked(model_that(overflow))
    with pytest.raises(ModelError, match=r"503.*busy") as caught:
        await asked(model_that(busy))
    assert "abcdefgh" not in str(caught.value)
    with pytest.raises(ModelError, match="OSError: gone"):
        await asked(model_that(broken))


async def test_a_silent_model_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "well"
        await asyncio.Event().wait()

    monkeypatch.setattr("acpella.coder.models.pydantic.SILENCE", 0.1)
    with pytest.raises(ModelError, match="sent nothing for"):
        await asked(model_that(silent))


async def test_cancelling_ends_the_request() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        try:
            yield "well"
            started.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with asyncio.timeout(60):
        task = asyncio.create_task(asked(model_that(answer)))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await ended.wait()


async def test_an_unknown_provider_is_told() -> None:
    with pytest.raises(ModelError, match="pydantic-ai cannot use 'nobody:x'"):
        open_model("pydantic:nobody:x", {})


def test_without_the_extra_the_error_says_how_to_install_it() -> None:
    code = (
        "import sys; sys.modules['pydantic_ai'] = None\n"
        "from acpella.coder.models.model_names import open_model\n"
        "try:\n    open_model('pydantic:a:b', {})\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("ModelError") and "pip install 'acpella[models]'" in ran.stdout


def test_models_are_imported_only_when_they_are_used() -> None:
    code = (
        "import sys; import acpella.coder.models, acpella.coder.models.model_names as c\n"
        "c.open_model('offline', {}); c.open_model('anthropic:x', {'ANTHROPIC_API_KEY': 'k'})\n"
        "print(*{'httpx2', 'pydantic_ai', 'pydantic'} & sys.modules.keys())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""
