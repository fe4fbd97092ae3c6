"""Cancelling at any moment: the prompt is answered `cancelled`, and nothing is left behind."""

import asyncio
import threading
import time
from typing import Any

import pytest

from acpella.agent import Login
from acpella.errors import LocalProtocolError, RpcError
from acpella.sessions import Store
from agent.editor import FS, FakeEditor, Json, agent_of, editing, opened, prompt_params, raw_end
from interaction.ends import RawEnd
from interaction.wire import notification, request, result

pytestmark = pytest.mark.anyio


def prompting(editor: FakeEditor, session: str, text: str = "hi") -> "asyncio.Task[Json]":
    """A prompt that runs in the background."""
    return asyncio.create_task(editor.call("session/prompt", prompt_params(session, text)))


async def cancel_when_begun(editor: FakeEditor) -> str:
    """Cancel a prompt when its handler has said "begun"; gives the session."""
    session = await editor.new()
    prompt = prompting(editor, session)
    await editor.until_said("begun")
    await editor.cancel(session)
    assert (await prompt)["stopReason"] == "cancelled"
    return session


async def stream_for_ever(turn: Any) -> Any:
    async with turn.tool("Endless"):
        while True:
            yield "."
            await asyncio.sleep(0)


async def wait_for_ever(turn: Any) -> None:
    async with turn.tool("Endless"):
        await turn.say("waiting")
        await asyncio.get_running_loop().create_future()


async def ask_for_ever(turn: Any) -> None:
    async with turn.tool("Ask") as call:
        await turn.permit(call)


def block_in_tool(turn: Any) -> None:
    with turn.tool("Endless"):
        turn.say("waiting")
        while not turn.cancelled:
            time.sleep(0.001)


def stream_in_thread(turn: Any) -> Any:
    with turn.tool("Endless"):
        while True:
            yield "."


def ask_in_thread(turn: Any) -> None:
    with turn.tool("Ask") as call:
        turn.permit(call)


HANDLERS: dict[str, tuple[Any, str]] = {
    "streaming": (stream_for_ever, "."),
    "waiting": (wait_for_ever, "waiting"),
    "asking": (ask_for_ever, ""),
    "in a thread": (block_in_tool, "waiting"),
    "streaming in a thread": (stream_in_thread, "."),
    "asking in a thread": (ask_in_thread, ""),
}


async def begun(editor: FakeEditor, said: str) -> None:
    if said:
        await editor.until_said(said)
    else:
        await editor.until(lambda: editor.calls("session/request_permission"))


@pytest.fixture(params=sorted(HANDLERS))
def handler(request: pytest.FixtureRequest) -> tuple[Any, str]:
    """What a turn is doing, and what is said when it does."""
    return HANDLERS[request.param]


def never_decide(editor: FakeEditor) -> None:
    """The user does not answer; like a real editor, the request ends when the agent withdraws it."""
    editor.on["session/request_permission"] = lambda params: asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("how", ["session/cancel", "$/cancel_request", "session/close", "session/delete"])
async def test_a_turn_ends_cancelled_whatever_it_does(handler: tuple[Any, str], how: str) -> None:
    """R-209, R-210, R-175; R-205: open tool calls are closed before the answer."""
    function, said = handler
    async with editing(agent_of(function, store="memory")) as editor:
        never_decide(editor)
        session = await editor.new()
        prompt = prompting(editor, session)
        await begun(editor, said)
        if how == "session/cancel":
            await editor.cancel(session)
        elif how == "$/cancel_request":
            number = int(editor.connection._peer._next_id) - 1
            await editor.connection.notify("$/cancel_request", {"requestId": number})
        else:
            await editor.call(how, {"sessionId": session})
        assert (await prompt)["stopReason"] == "cancelled"
        assert editor.updates("tool_call_update")[-1]["status"] == "failed"
        at = editor.order().index("session/prompt")
        assert set(editor.order()[at + 1 :]) <= {how}, "an update after the answer"


async def test_after_a_cancel_the_next_prompt_works(handler: tuple[Any, str]) -> None:
    function, said = handler
    async with editing(agent_of(function)) as editor:
        never_decide(editor)
        session = await editor.new()
        for _ in range(3):
            editor.forget()
            prompt = prompting(editor, session)
            await begun(editor, said)
            await editor.cancel(session)
            assert (await prompt)["stopReason"] == "cancelled"


async def test_a_cancelled_turn_is_saved(handler: tuple[Any, str], store: Store) -> None:
    """C17: it was answered, so it is kept."""
    function, said = handler
    async with editing(agent_of(function, store=store)) as editor:
        never_decide(editor)
        session = await editor.new()
        prompt = prompting(editor, session, "do it")
        await begun(editor, said)
        await editor.cancel(session)
        await prompt
        told = editor.said()
        editor.forget()
        await editor.load(session)
        assert editor.said(kind="user_message_chunk") == "do it"
        assert editor.said() == told
        assert editor.updates("tool_call_update")[-1]["status"] == "failed"


async def test_losing_the_editor_ends_the_turn_and_saves_it(handler: tuple[Any, str], store: Store) -> None:
    function, said = handler
    agent = agent_of(function, store=store)
    async with opened(agent) as editor:
        never_decide(editor)
        session = await editor.new()
        prompt = prompting(editor, session, "do it")
        await begun(editor, said)
        await editor.connection._channel.close()  # gone, without a word
        await editor.serving
        prompt.cancel()
    exported = await agent.export_session(session)
    assert exported["events"][0]["body"]["content"]["text"] == "do it"
    assert exported["events"][-1] == {"kind": "turn", "body": {"stopReason": "cancelled"}}
    statuses = [e["body"].get("status") for e in exported["events"] if "toolCallId" in e["body"]]
    assert statuses == ["in_progress", "failed"]
    await agent.close()


@pytest.mark.parametrize("kind", ["coroutine", "generator", "plain"])
async def test_a_cancel_in_the_same_chunk_as_the_prompt_counts(kind: str) -> None:
    """Before the first await of the handler."""

    async def coroutine(turn: Any) -> str:
        await asyncio.sleep(0)
        return "too late"

    async def generator(turn: Any) -> Any:
        while True:
            yield "."

    def plain(turn: Any) -> str:
        while not turn.cancelled:
            time.sleep(0.001)
        return "too late"

    handlers = {"coroutine": coroutine, "generator": generator, "plain": plain}
    cancel_other = notification("session/cancel", {"sessionId": "sess_other"})
    for before in (b"", cancel_other):
        async with raw_end(agent_of(handlers[kind], store="memory")) as (raw, session):
            cancel = notification("session/cancel", {"sessionId": session})
            raw.send(before + request(2, "session/prompt", prompt_params(session)) + cancel)
            answer = await last_message(raw, 2)
            assert answer["result"] == {"stopReason": "cancelled"}


async def last_message(raw: RawEnd, number: int) -> Json:
    """The answer to a request; what came before it is dropped."""
    while True:
        for message in await raw.messages(1):
            if message.get("id") == number:
                return message


async def test_a_cancel_counts_while_the_login_is_still_looked_up() -> None:
    """R-210: also when the agent asks somebody else before it begins."""

    async def reply(turn: Any) -> str:
        return "too late"

    async def log_in() -> None:
        pass

    agent = agent_of(reply, logins=[Login("key", "Key", log_in)])
    go_on = asyncio.Event()

    @agent.is_logged_in
    async def logged_in() -> bool:
        await go_on.wait()
        return True

    go_on.set()
    async with raw_end(agent) as (raw, session):
        go_on.clear()
        cancel = notification("session/cancel", {"sessionId": session})
        raw.send(request(2, "session/prompt", prompt_params(session)) + cancel)
        raw.send(request(3, "no/such"))
        await last_message(raw, 3)  # so the cancel was read, too
        go_on.set()
        assert (await last_message(raw, 2))["result"] == {"stopReason": "cancelled"}


async def test_a_cancel_for_an_unknown_or_idle_session_does_nothing() -> None:
    """R-213, R-009."""

    async def reply(turn: Any) -> str:
        return "answered"

    async with editing(agent_of(reply)) as editor:
        session = await editor.new()
        for name in (session, "sess_unknown", "../..", "", "x" * 1000):
            await editor.cancel(name)
        await editor.connection.notify("session/cancel", {"sessionId": 5})
        await editor.connection.notify("session/cancel", {})
        assert await editor.prompt(session) == "end_turn"
        await editor.cancel(session)
        assert await editor.prompt(session) == "end_turn"
        assert editor.said() == "answeredanswered"


async def test_many_cancels_are_one() -> None:
    async with editing(agent_of(wait_for_ever)) as editor:
        session = await editor.new()
        prompt = prompting(editor, session)
        await editor.until_said("waiting")
        for _ in range(100):
            await editor.cancel(session)
        assert (await prompt)["stopReason"] == "cancelled"
        prompt = prompting(editor, session)
        await editor.until(lambda: editor.said() == "waiting" * 2)
        await editor.cancel(session)
        await prompt


async def test_a_handler_may_clean_up_and_say_so() -> None:
    """R-212: updates may still come before the answer."""

    async def reply(turn: Any) -> None:
        await turn.say("begun")
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            assert turn.cancelled
            await turn.say(" undone")

    async with editing(agent_of(reply)) as editor:
        await cancel_when_begun(editor)
        assert editor.said() == "begun undone"


async def test_a_handler_that_fails_while_it_is_cancelled_is_still_cancelled() -> None:
    """R-211."""

    async def reply(turn: Any) -> None:
        await turn.say("begun")
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            raise RpcError("the abort failed") from None

    async with editing(agent_of(reply)) as editor:
        await cancel_when_begun(editor)


async def test_a_handler_that_swallows_the_cancellation_and_returns_is_cancelled() -> None:
    async def reply(turn: Any) -> str:
        await turn.say("begun")
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            turn.stop("max_tokens")
        return " finished"

    async with editing(agent_of(reply)) as editor:
        await cancel_when_begun(editor)


async def test_a_handler_that_ignores_the_cancellation_is_left_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The prompt is answered after a while; what the handler does then reaches nobody."""
    monkeypatch.setattr("acpella.agent.running.CANCEL_GRACE", 0.1)
    go_on = asyncio.Event()
    refused: list[str] = []

    async def reply(turn: Any) -> None:
        if turn.text == "next":
            return
        await turn.say("begun")
        while not go_on.is_set():
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                pass
        for name, attempt in {
            "say": lambda: turn.say("late"),
            "tool": lambda: turn.tool("late").open(),
            "write": lambda: turn.files.write("a.txt", "late"),
            "read": lambda: turn.files.read("a.txt"),
            "permit": lambda: turn.permit(None, "late?"),
        }.items():
            try:
                await attempt()
            except LocalProtocolError:
                refused.append(name)
        ended.set()
        raise RuntimeError("nobody hears this")

    ended = asyncio.Event()
    async with editing(agent_of(reply), **FS) as editor:
        session = await cancel_when_begun(editor)
        assert await editor.prompt(session, "next") == "end_turn"
        go_on.set()
        await ended.wait()
        assert refused == ["say", "tool", "write", "read", "permit"]
        assert editor.said() == "begun"
        assert editor.files == {}
    assert "Task exception was never retrieved" not in caplog.text


async def test_a_thread_that_ignores_the_cancellation_is_left_behind() -> None:
    go_on = threading.Event()
    ended = threading.Event()
    outcome: list[BaseException] = []

    def reply(turn: Any) -> None:
        turn.say("begun")
        go_on.wait()
        try:
            turn.say("late")
        except BaseException as error:
            outcome.append(error)
        ended.set()

    async with editing(agent_of(reply)) as editor:
        await cancel_when_begun(editor)
        go_on.set()
        await asyncio.to_thread(ended.wait, 5)
        assert isinstance(outcome[0], asyncio.CancelledError)
        assert editor.said() == "begun"


async def test_closing_while_a_turn_runs_answers_the_prompt_first() -> None:
    """R-175."""
    async with editing(agent_of(wait_for_ever, store="memory")) as editor:
        session = await editor.new()
        prompt = prompting(editor, session)
        await editor.until_said("waiting")
        await editor.call("session/close", {"sessionId": session})
        assert prompt.done() or (await prompt)
        assert editor.order()[-2:] == ["session/prompt", "session/close"]
        assert (await editor.prompt_fails(session)).code == -32002


async def test_a_question_that_the_agent_gives_up_is_withdrawn() -> None:
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def impatient(turn: Any) -> None:
        asking = asyncio.ensure_future(turn.permit(None, "May I?"))
        await asked.wait()
        asking.cancel()

    async def undecided(params: Any) -> Any:
        asked.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            withdrawn.set()
            raise

    async with editing(agent_of(impatient)) as editor:
        editor.on["session/request_permission"] = undecided
        assert await editor.prompt(await editor.new()) == "end_turn"
        await withdrawn.wait()


async def test_no_cancel_request_follows_the_editors_own_cancel() -> None:
    """R-208: the editor closes its questions itself; some clients report the notification as an error."""
    async with raw_end(agent_of(ask_for_ever)) as (raw, session):
        raw.send(request("2", "session/prompt", prompt_params(session)))
        heard: list[Json] = []
        while not any(message.get("method") == "session/request_permission" for message in heard):
            heard += await raw.messages(1)
        raw.send(notification("session/cancel", {"sessionId": session}))
        while "stopReason" not in heard[-1].get("result", {}):
            heard += await raw.messages(1)
        assert heard[-1]["result"] == {"stopReason": "cancelled"}
        assert "$/cancel_request" not in [message.get("method") for message in heard]


async def test_an_editor_that_answers_cancelled_by_itself_is_heard() -> None:
    """R-208: the outcome comes, the cancel notification behind it."""

    async def reply(turn: Any) -> str:
        allowed = await turn.permit(None, "Go on?")
        await asyncio.sleep(0)
        return str(allowed)

    async with raw_end(agent_of(reply)) as (raw, session):
        raw.send(request(2, "session/prompt", prompt_params(session)))
        (asked,) = await raw.messages(1)
        raw.send(
            result(asked["id"], {"outcome": {"outcome": "cancelled"}})
            + notification("session/cancel", {"sessionId": session})
        )
        assert (await last_message(raw, 2))["result"] == {"stopReason": "cancelled"}


async def test_an_editor_that_does_not_read_can_still_cancel() -> None:
    async with editing(agent_of(flood)) as editor:
        session = await editor.new()
        prompt = prompting(editor, session)
        await editor.until_said("x")
        editor.connection._channel.pause_reading()
        await asyncio.sleep(0.05)  # the agent cannot write any more
        await editor.cancel(session)
        await asyncio.sleep(
            0.05
        )  # in which it hears the cancel; nothing that it does about it can be seen yet
        editor.connection._channel.resume_reading()
        assert (await prompt)["stopReason"] == "cancelled"
        assert editor.order()[-1] == "session/prompt"


async def flood(turn: Any) -> Any:
    async with turn.tool("Flood"):
        while True:
            yield "x" * 10_000


async def test_cancelling_at_random_moments_always_ends_well(store: Store) -> None:
    """A storm of prompts, each cancelled after a different number of loop turns."""

    async def reply(turn: Any) -> Any:
        async with turn.tool("Work") as call:
            for number in range(10):
                yield f"{number} "
                await call.progress()
                if not await turn.permit(call, "May I?", key=f"key {number}"):
                    break
                await turn.files.write("a.txt", str(number))

    async with editing(agent_of(reply, store=store), patience=30, **FS) as editor:
        session = await editor.new()
        reasons = set()
        for steps in range(120):
            prompt = prompting(editor, session, f"prompt {steps}")
            for _ in range(steps):
                await asyncio.sleep(0)
            await editor.cancel(session)
            reasons.add((await prompt)["stopReason"])
            statuses: dict[str, str] = {}
            for update in editor.updates():
                if "toolCallId" in update:
                    statuses[update["toolCallId"]] = update["status"]
            assert set(statuses.values()) <= {"completed", "failed"}
        assert "cancelled" in reasons
        editor.forget()
        await editor.load(session)
        assert editor.said(kind="user_message_chunk") == "".join(f"prompt {n}" for n in range(120))


async def test_a_cancelled_request_while_the_turn_is_being_saved_loses_nothing(store: Store) -> None:
    """The log goes on where it was, whatever becomes of the request that wrote to it."""

    async def reply(turn: Any) -> str:
        return f"answer to {turn.text}. "

    async with editing(agent_of(reply, store=store)) as editor:
        session = await editor.new()
        for steps in range(30):
            prompt = prompting(editor, session, f"p{steps}")
            for _ in range(steps):
                await asyncio.sleep(0)
            prompt.cancel()
            await asyncio.wait([prompt])
            while True:  # the prompt that nobody waits for may still be running
                try:
                    await editor.prompt(session, "next")
                    break
                except RpcError as error:
                    assert error.code == -32600, error
        editor.forget()
        await editor.load(session)
        assert editor.said().count("answer to next. ") == 30
