"""What no editor should send: every answer is an error that says so, and the connection lives."""

import asyncio
import base64
import copy
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acpella.agent import Agent, Login, Mode, Select, Toggle, Tool
from acpella.errors import RpcError
from acpella.sessions import MemoryStore
from agent.editor import FakeEditor, Json, agent_of, editing, prompt_params, text

pytestmark = pytest.mark.anyio

ALL_CHECKS = cast("list[HealthCheck]", list(HealthCheck))  # its metaclass iterates over itself, say its types

POLITE = {-32000, -32002, -32600, -32601, -32602}
"""What an editor may be told about its mistakes; -32603 would be ours."""

WRONG: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    2**70,
    "",
    "x",
    "../..",
    "\0",
    "\ud83d",
    "x" * 5000,
    [],
    [None],
    [[]],
    {},
    {"a": None},
    {"type": "nonsense"},
]


async def echo(turn: Any) -> str:
    return turn.text


async def log_in() -> None:
    pass


def demanding_agent() -> Agent:
    agent = agent_of(
        echo,
        store=MemoryStore(),
        modes=[Mode("a", "A"), Mode("b", "B")],
        options=[Select("model", "Model", ["x", "y"], category="model"), Toggle("fast", "Fast")],
        logins=[Login("key", "Key", log_in)],
        tools=[Tool("read", "Reads")],
        images=True,
        audio=True,
        mcp=["http", "sse"],
    )
    agent.is_logged_in(lambda: True)
    return agent


def requests(session: str) -> list[tuple[str, Json]]:
    """Every request with everything that it may carry."""
    at = {
        "cwd": "/project",
        "additionalDirectories": ["/more"],
        "mcpServers": [
            {"name": "a", "command": "/bin/a", "args": ["b"], "env": [{"name": "A", "value": "b"}]},
            {"type": "http", "name": "b", "url": "http://b", "headers": [{"name": "A", "value": "b"}]},
            {"type": "sse", "name": "c", "url": "http://c", "headers": []},
        ],
        "_meta": {"a": 1},
    }
    here = {"sessionId": session}
    prompt = [
        text("hi"),
        {"type": "resource_link", "name": "a", "uri": "file:///a", "size": 5, "mimeType": "text/plain"},
        {"type": "resource", "resource": {"uri": "file:///b", "text": "c"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAAA"}},
        {"type": "image", "data": "AAAA", "mimeType": "image/png", "annotations": {"priority": 1}},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    ]
    chunk = {"sessionUpdate": "agent_message_chunk", "content": text("x")}
    document = {
        "format": "acpella.session",
        "version": 1,
        "session": {
            "cwd": "/a",
            "title": "t",
            "createdAt": "2026-01-01T00:00:00Z",
            "updatedAt": "2026-01-01T00:00:00Z",
            "state": {"a": 1},
            "settings": {"mode": "a", "options": {"model": "x"}},
        },
        "events": [{"kind": "update", "body": chunk}, {"kind": "turn", "body": {"stopReason": "end_turn"}}],
    }
    return [
        ("initialize", {"protocolVersion": 1, "clientCapabilities": {"fs": {}}, "clientInfo": {"name": "a"}}),
        ("authenticate", {"methodId": "key"}),
        ("session/new", at),
        ("session/load", {**here, **at}),
        ("session/resume", {**here, **at}),
        ("session/fork", {**here, **at}),
        ("session/list", {"cwd": "/project", "cursor": None}),
        ("session/set_mode", {**here, "modeId": "a"}),
        ("session/set_config_option", {**here, "configId": "fast", "type": "boolean", "value": True}),
        ("session/set_config_option", {**here, "configId": "model", "value": "x"}),
        ("session/set_model", {**here, "modelId": "x"}),
        ("session/prompt", {**here, "prompt": prompt}),
        ("session/close", {"sessionId": "sess_none"}),
        ("session/delete", {"sessionId": "sess_none"}),
        ("_session/list", {"cwd": "/project"}),
        ("_session/get", here),
        ("_session/export", here),
        ("_session/delete", {"sessionId": "sess_none"}),
        ("_session/import", document),
        ("_agent/tools", {}),
        ("_agent/working_dir/update", {**here, "path": "/project"}),
    ]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside a JSON value, the whole included."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def changed(value: Json, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with another value in one place; without that place if it is `...`."""
    if not path:
        return new
    whole = copy.deepcopy(value)
    inner: Any = whole
    for key in path[:-1]:
        inner = inner[key]
    if new is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return whole


async def is_polite(editor: FakeEditor, method: str, params: Any) -> None:
    try:
        await editor.call(method, params)
    except RpcError as error:
        assert error.code in POLITE, f"{method} {str(params)[:300]} was answered with {error!r}"


async def lives(editor: FakeEditor, session: str) -> None:
    """The session still answers, or can be loaded again where a request has closed it."""
    await editor.initialize()
    try:
        await editor.prompt(session, "still there?")
    except RpcError:
        await editor.load(session)
        await editor.prompt(session, "still there?")
    assert editor.said().endswith("still there?")
    editor.forget()


@pytest.mark.parametrize("number", range(len(requests(""))), ids=[name for name, _ in requests("")])
async def test_wrong_values_everywhere_are_the_editors_fault(number: int) -> None:
    async with editing(demanding_agent(), patience=60) as editor:
        session = await editor.new()
        method, params = requests(session)[number]
        await is_polite(editor, method, params)
        for path in places(params):
            for wrong in [*WRONG, ...]:
                if path or wrong is not ...:
                    await is_polite(editor, method, changed(params, path, wrong))
        await lives(editor, session)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["sessionId", "cwd", "mcpServers", "prompt", "type", "text", "value", "x"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60, suppress_health_check=ALL_CHECKS)
@given(data=st.data())
def test_arbitrary_parameters_are_the_editors_fault(data: st.DataObject) -> None:
    async def run() -> None:
        async with editing(demanding_agent(), patience=60) as editor:
            session = await editor.new()
            for _ in range(10):
                method, params = data.draw(st.sampled_from(requests(session)))
                path = data.draw(st.sampled_from(list(places(params))))
                await is_polite(editor, method, changed(params, path, data.draw(JSON)))
            await lives(editor, session)

    asyncio.run(run())


# -- what a prompt may hold -------------------------------------------------------------


def image(size: int, kind: str = "image/png") -> Json:
    return {"type": "image", "data": base64.b64encode(bytes(size)).decode(), "mimeType": kind}


@pytest.mark.parametrize(
    "blocks",
    [
        [],
        [text("")],
        [text("a"), text("b")],
        [{"type": "resource_link", "name": "a", "uri": "file:///a"}],
        [{"type": "resource", "resource": {"uri": "file:///a", "text": "t"}}],
        [{"type": "resource", "resource": {"uri": "file:///a", "blob": "AAAA"}}],
        [image(10)],
        [image(10, "image/svg+xml")],
        [image(10, "application/x-evil")],
        [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}],
        [{"type": "image", "data": "not base64 !", "mimeType": "image/png"}],
    ],
    ids=str,
)
async def test_prompts_of_every_kind_and_of_none_are_taken(blocks: list[Json]) -> None:
    """B7."""
    async with editing(agent_of(echo, images=True, audio=True, store="memory")) as editor:
        session = await editor.new()
        assert await editor.prompt(session, blocks) == "end_turn"
        editor.forget()
        await editor.load(session)
        replayed = [update["content"] for update in editor.updates("user_message_chunk")]
        whole = [text("ab")] if len(blocks) == 2 else blocks
        assert replayed == whole


@pytest.mark.parametrize(
    "block",
    [
        image(10),
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        {"type": "hologram", "data": "A"},
    ],
    ids=["image", "audio", "hologram"],
)
async def test_kinds_that_were_not_advertised_are_refused_before_anything_happens(block: Json) -> None:
    """R-107, R-201."""
    async with editing(agent_of(echo, store="memory")) as editor:
        session = await editor.new()
        error = await editor.prompt_fails(session, [text("look"), block])
        assert error.code == -32602
        assert await editor.prompt(session, "next") == "end_turn"
        editor.forget()
        await editor.load(session)
        assert editor.said(kind="user_message_chunk") == "next"


async def count_images(turn: Any) -> str:
    return ",".join(type(block).__name__ for block in turn.prompt)


@pytest.mark.parametrize("size", [20_000_000, 20 * 1024 * 1024])
async def test_an_image_of_20_mb_is_taken(size: int) -> None:
    """C12."""
    async with editing(agent_of(count_images, images=True), patience=30) as editor:
        await editor.prompt(await editor.new(), [text("look"), image(size)])
        assert editor.said() == "TextContent,ImageContent"


async def test_a_large_image_is_kept_in_the_store_and_replayed(tmp_path: Path) -> None:
    block = image(5_000_000)
    async with editing(agent_of(count_images, images=True, store=tmp_path / "s.db"), patience=30) as editor:
        session = await editor.new()
        await editor.prompt(session, [block])
        editor.forget()
        await editor.load(session)
        assert editor.updates("user_message_chunk")[0]["content"] == block


@pytest.mark.parametrize(
    "block, why",
    [(image(20 * 1024 * 1024 + 1), "20 MiB"), (image(10, "image/tiff"), "image/tiff")],
    ids=["size", "type"],
)
@pytest.mark.parametrize("notices", [True, False])
async def test_an_image_that_cannot_be_taken_is_left_out_with_a_warning(
    block: Json, why: str, notices: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """C12: the rest of the prompt is answered."""
    offered: Json = {"session": {"notices": {}}} if notices else {}
    with caplog.at_level(logging.WARNING):
        async with editing(agent_of(count_images, images=True), patience=30, **offered) as editor:
            assert await editor.prompt(await editor.new(), [text("look"), block]) == "end_turn"
            assert editor.said().endswith("TextContent")
            if notices:
                (told,) = editor.updates("notice")
                assert (told["severity"], why in told["title"]) == ("warning", True)
            else:
                assert why in editor.said()
    assert why in caplog.text


async def test_the_limit_for_images_is_a_setting() -> None:
    """C24."""
    agent = agent_of(count_images, images=True, settings={"max_image_bytes": 10})
    async with editing(agent) as editor:
        session = await editor.new()
        await editor.prompt(session, [image(10)])
        await editor.prompt(session, [image(11)])
        assert editor.said() == "ImageContent*image/png of more than 10 bytes was left out*\n\n"


async def test_the_shape_of_older_editors_is_read() -> None:
    """D12: a prompt given as `content`."""
    async with editing(agent_of(echo)) as editor:
        session = await editor.new()
        params = {"sessionId": session, "content": [text("old")]}
        assert (await editor.call("session/prompt", params))["stopReason"] == "end_turn"
        assert editor.said() == "old"


async def test_the_smallest_shapes_are_enough() -> None:
    """R-017: absent and null parameters are empty ones; null lists are empty too."""
    async with editing(agent_of(echo, store="memory")) as editor:
        answer = await editor.call(
            "session/new", {"cwd": "/a", "mcpServers": None, "additionalDirectories": None}
        )
        session = answer["sessionId"]
        await editor.call("session/list", None)
        await editor.call("session/resume", {"sessionId": session, "cwd": "/a"})
        assert await editor.prompt(session) == "end_turn"


async def test_ten_thousand_cancels_and_unknown_messages_in_between_harm_nobody() -> None:
    async with editing(agent_of(echo), patience=30) as editor:
        session = await editor.new()
        for number in range(5000):
            await editor.connection.notify("session/cancel", {"sessionId": f"sess_{number}"})
            await editor.connection.notify("unknown/thing", {"number": number})
        assert (await editor.call("session/prompt", prompt_params(session)))["stopReason"] == "end_turn"


@pytest.mark.parametrize(
    "answer", [None, [], "x", {}, {"outcome": None}, {"outcome": 5}, {"outcome": {}}], ids=str
)
async def test_what_is_no_permission_is_no(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    """C21: an editor that answers nonsense has not said yes; the turn goes on."""

    async def ask(turn: Any) -> str:
        return str(await turn.permit(None, "Go on?"))

    async with editing(agent_of(ask)) as editor:
        editor.on["session/request_permission"] = lambda params: answer
        session = await editor.new()
        assert await editor.prompt(session, "go") == "end_turn"
        assert editor.said(session) == "False"
    assert "Traceback" not in caplog.text
