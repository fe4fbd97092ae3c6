"""What an author may decorate with `on_prompt`, and what becomes of it (A1, A8)."""

import asyncio
import functools
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from acpella.agent import Agent
from acpella.errors import RpcError
from acpella.schema import AgentThoughtChunk, Diff, ImageContent, SessionConfigBoolean, TextContent
from agent.editor import agent_of, editing

pytestmark = pytest.mark.anyio


async def returns_text(turn: Any) -> str:
    return f"got {turn.text}"


async def says_text(turn: Any) -> None:
    await turn.say(f"got {turn.text}")


async def yields_text(turn: Any) -> Any:
    yield "got "
    yield turn.text


def plain(turn: Any) -> str:
    return f"got {turn.text}"


def plain_that_says(turn: Any) -> None:
    turn.say(f"got {turn.text}")


def plain_generator(turn: Any) -> Iterator[str]:
    yield "got "
    yield turn.text


class Callable:
    async def __call__(self, turn: Any) -> str:
        return f"got {turn.text}"


class GeneratorObject:
    async def __call__(self, turn: Any) -> Any:
        yield f"got {turn.text}"


class PlainCallable:
    def __call__(self, turn: Any) -> str:
        return f"got {turn.text}"


class Model:
    async def reply(self, turn: Any) -> Any:
        yield f"got {turn.text}"


async def with_prefix(prefix: str, turn: Any) -> str:
    return prefix + turn.text


def plain_with_prefix(prefix: str, turn: Any) -> str:
    return prefix + turn.text


def logged(handler: Any) -> Any:
    """A decorator as people write it."""

    @functools.wraps(handler)
    def wrapper(turn: Any) -> Any:
        return handler(turn)

    return wrapper


@pytest.mark.parametrize(
    "handler",
    [
        returns_text,
        says_text,
        yields_text,
        plain,
        plain_that_says,
        plain_generator,
        Callable(),
        GeneratorObject(),
        PlainCallable(),
        Model().reply,
        functools.partial(with_prefix, "got "),
        functools.partial(plain_with_prefix, "got "),
        logged(says_text),
        logged(yields_text),
        logged(plain_that_says),
        lambda turn: says_text(turn),
    ],
)
async def test_a_handler_of_any_kind_answers(handler: Any) -> None:
    async with editing(agent_of(handler)) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "this") == "end_turn"
        assert editor.said() == "got this"


async def test_a_handler_that_returns_nothing_says_nothing() -> None:
    async def silent(turn: Any) -> None:
        pass

    async with editing(agent_of(silent)) as editor:
        assert await editor.prompt(await editor.new()) == "end_turn"
        assert editor.said() == ""


async def test_a_generator_yields_text_content_and_updates() -> None:
    async def reply(turn: Any) -> Any:
        yield "text"
        yield TextContent(text=" block")
        yield ImageContent(data="AAAA", mime_type="image/png")
        yield AgentThoughtChunk(content=TextContent(text="hmm"))
        yield None

    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new())
        assert editor.said() == "text block"
        assert editor.said(kind="agent_thought_chunk") == "hmm"
        assert editor.updates("agent_message_chunk")[2]["content"]["type"] == "image"


@pytest.mark.parametrize(
    "item",
    [
        5,
        b"bytes",
        ["list"],
        {"type": "text", "text": "a dictionary"},
        object(),
        Diff(path="/a", new_text="b"),  # content of a tool call, not of a message
        SessionConfigBoolean(id="a", name="b", current_value=True),
    ],
)
@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_a_wrong_yield_fails_the_prompt_and_sends_nothing(
    item: Any, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def reply(turn: Any) -> Any:
        yield item

    def plain_reply(turn: Any) -> Any:
        yield item

    async with editing(agent_of(reply if kind == "async" else plain_reply)) as editor:
        error = await editor.prompt_fails(await editor.new())
        assert error.code == -32603
        assert editor.updates("agent_message_chunk") == []
    assert f"not {type(item).__name__}" in caplog.text


@pytest.mark.parametrize("kind", ["coroutine", "generator", "plain", "plain generator"])
async def test_an_exception_fails_one_prompt_without_its_text(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A8: the next prompt works."""

    def fail(turn: Any) -> None:
        if turn.text == "fail":
            raise RuntimeError("the password is 1234")

    async def coroutine(turn: Any) -> str:
        fail(turn)
        return "fine"

    async def generator(turn: Any) -> Any:
        fail(turn)
        yield "fine"

    def plain(turn: Any) -> str:
        fail(turn)
        return "fine"

    def plain_generator(turn: Any) -> Any:
        fail(turn)
        yield "fine"

    handlers = {
        "coroutine": coroutine,
        "generator": generator,
        "plain": plain,
        "plain generator": plain_generator,
    }
    async with editing(agent_of(handlers[kind], store="memory")) as editor:
        session = await editor.new()
        error = await editor.prompt_fails(session, "fail")
        assert (error.code, error.message, error.data) == (-32603, "Internal error", None)
        assert await editor.prompt(session) == "end_turn"
        assert editor.said() == "fine"
    assert "the password is 1234" in caplog.text  # for the author, in the log


async def test_an_rpc_error_reaches_the_editor_as_written() -> None:
    async def reply(turn: Any) -> None:
        raise RpcError("out of credit", code=402, data={"balance": 0})

    async with editing(agent_of(reply)) as editor:
        error = await editor.prompt_fails(await editor.new())
        assert (error.code, error.message, error.data) == (402, "out of credit", {"balance": 0})


async def test_a_stop_iteration_of_a_plain_function_is_a_failure_like_others() -> None:
    def reply(turn: Any) -> None:
        next(iter(()))

    async with editing(agent_of(reply)) as editor:
        assert (await editor.prompt_fails(await editor.new())).code == -32603


async def test_a_handler_that_raises_cancelled_error_by_itself_ends_in_cancelled() -> None:
    """R-211: an abort is never an error."""

    async def reply(turn: Any) -> None:
        raise asyncio.CancelledError

    async with editing(agent_of(reply)) as editor:
        assert await editor.prompt(await editor.new()) == "cancelled"


async def test_a_coroutine_that_a_plain_function_returns_has_a_turn_to_await() -> None:
    """A plain function's turn blocks; blocking the event loop would stop the whole agent."""

    async def work(turn: Any) -> str:
        async with turn.tool("Think") as call:
            await call.progress(title="Think harder")
        turn.stop("max_tokens")
        return "done"

    async with editing(agent_of(lambda turn: work(turn))) as editor:
        assert await editor.prompt(await editor.new()) == "max_tokens"
        assert editor.said() == "done"


async def test_without_a_handler_a_prompt_fails_and_running_is_refused() -> None:
    agent = Agent("empty")
    with pytest.raises(ValueError, match="on_prompt"):
        agent.run()
    async with editing(agent) as editor:
        assert (await editor.prompt_fails(await editor.new())).code == -32603


async def test_an_exit_in_a_handler_does_not_end_the_agent(caplog: pytest.LogCaptureFixture) -> None:
    """A8: libraries with a command line inside raise SystemExit."""
    caplog.set_level(logging.CRITICAL)

    async def reply(turn: Any) -> str:
        if turn.text == "exit":
            raise SystemExit(3)
        return "still here"

    def plain_reply(turn: Any) -> str:
        if turn.text == "exit":
            raise SystemExit(3)
        return "still here"

    for handler in (plain_reply, reply):
        async with editing(agent_of(handler)) as editor:
            session = await editor.new()
            assert (await editor.prompt_fails(session, "exit")).code == -32603
            assert await editor.prompt(session) == "end_turn"
