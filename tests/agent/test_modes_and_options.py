"""Modes, config options and slash commands (B5, C13, C14, C22)."""

import asyncio
from typing import Any

import pytest

from acpella.agent import Agent, Choice, Mode, Select, Toggle
from acpella.sessions import Store
from agent.editor import FakeEditor, Json, agent_of, editing, prompt_params, text

pytestmark = pytest.mark.anyio

BOOLEANS: dict[str, Any] = {"session": {"configOptions": {"boolean": {}}}}


async def tell_settings(turn: Any) -> str:
    session = turn.session
    return f"{session.mode} {session.option('model')} {session.option('fast')};"


def choosing(handler: Any = tell_settings, **options: Any) -> Agent:
    return agent_of(
        handler,
        modes=[Mode("ask", "Ask", "Asks first"), Mode("code", "Code")],
        options=[
            Select("model", "Model", [Choice("small", "Small", "Quick"), "large"], category="model"),
            Toggle("fast", "Fast", default=True, description="Hurries"),
            Select("tone", "Tone", ["kind", "blunt"], default="blunt", category="_mine"),
        ],
        **options,
    )


def values(options: list[Json]) -> Json:
    return {option["id"]: option["currentValue"] for option in options}


async def test_a_new_session_tells_its_modes_and_options() -> None:
    """R-301: both, the modes as an option of the category `mode` too; R-303."""
    async with editing(choosing(), **BOOLEANS) as editor:
        answer = await editor.call("session/new", {"cwd": "/a", "mcpServers": []})
        assert answer["modes"] == {
            "currentModeId": "ask",
            "availableModes": [
                {"id": "ask", "name": "Ask", "description": "Asks first"},
                {"id": "code", "name": "Code"},
            ],
        }
        mode, model, fast, tone = answer["configOptions"]
        assert (mode["id"], mode["category"], mode["type"]) == ("mode", "mode", "select")
        assert [o["value"] for o in mode["options"]] == ["ask", "code"]
        assert model == {
            "id": "model",
            "name": "Model",
            "type": "select",
            "category": "model",
            "currentValue": "small",
            "options": [
                {"value": "small", "name": "Small", "description": "Quick"},
                {"value": "large", "name": "large"},
            ],
        }
        assert fast == {
            "id": "fast",
            "name": "Fast",
            "type": "boolean",
            "currentValue": True,
            "description": "Hurries",
        }
        assert (tone["currentValue"], tone["category"]) == ("blunt", "_mine")


async def test_without_any_there_is_nothing_to_tell() -> None:
    async with editing(agent_of(lambda turn: None)) as editor:
        answer = await editor.call("session/new", {"cwd": "/a", "mcpServers": []})
        assert set(answer) == {"sessionId"}


@pytest.mark.parametrize("offered", [{}, {"session": {}}, {"session": {"configOptions": {}}}])
async def test_booleans_are_hidden_from_editors_that_do_not_know_them(offered: Json, store: Store) -> None:
    """R-302: in every payload."""
    async with editing(choosing(store=store), **offered) as editor:
        answer = await editor.call("session/new", {"cwd": "/a", "mcpServers": []})
        session = answer["sessionId"]
        payloads = [answer["configOptions"], await editor.set_option(session, "model", "large")]
        payloads += [
            (await editor.load(session, m))["configOptions"] for m in ("session/load", "session/resume")
        ]
        await editor.call("session/set_mode", {"sessionId": session, "modeId": "code"})
        payloads += [update["configOptions"] for update in editor.updates("config_option_update")]
        assert len(payloads) == 6
        for options in payloads:
            assert {option["type"] for option in options} == {"select"}
        await editor.prompt(session)
        assert editor.said() == "code large True;"  # it has its default nevertheless


async def test_a_mode_is_set_and_everybody_is_told(store: Store) -> None:
    """B5, R-300, R-301."""
    async with editing(choosing(store=store)) as editor:
        session = await editor.new()
        assert await editor.call("session/set_mode", {"sessionId": session, "modeId": "code"}) == {}
        assert [update["currentModeId"] for update in editor.updates("current_mode_update")] == ["code"]
        (told,) = editor.updates("config_option_update")
        assert values(told["configOptions"])["mode"] == "code"
        await editor.prompt(session)
        assert editor.said() == "code small True;"


async def test_the_mode_can_be_set_as_an_option() -> None:
    async with editing(choosing()) as editor:
        session = await editor.new()
        assert values(await editor.set_option(session, "mode", "code"))["mode"] == "code"
        assert [update["currentModeId"] for update in editor.updates("current_mode_update")] == ["code"]
        await editor.prompt(session)
        assert editor.said() == "code small True;"


async def test_options_are_set_and_told_whole() -> None:
    """R-304, C14: the answer and the update hold every option."""
    async with editing(choosing(), **BOOLEANS) as editor:
        session = await editor.new()
        answers = [
            await editor.set_option(session, "model", "large"),
            await editor.set_option(session, "fast", False),
        ]
        told = [update["configOptions"] for update in editor.updates("config_option_update")]
        assert told == answers
        assert values(answers[1]) == {"mode": "ask", "model": "large", "fast": False, "tone": "blunt"}
        await editor.prompt(session)
        assert editor.said() == "ask large False;"


@pytest.mark.parametrize("word, value", [("false", False), ("False", False), ("true", True)])
async def test_an_option_that_is_true_or_false_takes_these_words(word: str, value: bool) -> None:
    """Editors and shells that know only strings were told that it cannot be 'true'."""
    async with editing(choosing(), **BOOLEANS) as editor:
        session = await editor.new()
        assert values(await editor.set_option(session, "fast", word))["fast"] is value


async def test_the_model_is_set_the_old_way() -> None:
    """C13."""
    async with editing(choosing()) as editor:
        session = await editor.new()
        assert await editor.call("session/set_model", {"sessionId": session, "modelId": "large"}) == {}
        assert values(editor.updates("config_option_update")[0]["configOptions"])["model"] == "large"
        error = await editor.fails("session/set_model", {"sessionId": session, "modelId": "huge"})
        assert error.code == -32602
        await editor.prompt(session)
        assert editor.said() == "ask large True;"


async def test_what_the_agent_changes_by_itself_is_told_too() -> None:
    """C14: however it changed."""

    async def reply(turn: Any) -> str:
        await turn.session.set_mode("code")
        await turn.session.set_option("model", "large")
        await turn.session.set_option("fast", False)
        with pytest.raises(ValueError, match="ask, code"):
            await turn.session.set_mode("none")
        with pytest.raises(ValueError, match="small, large"):
            await turn.session.set_option("model", "none")
        with pytest.raises(ValueError, match="true or false"):
            await turn.session.set_option("fast", "yes")
        with pytest.raises(KeyError):
            turn.session.option("none")
        return await tell_settings(turn)

    async with editing(choosing(reply), **BOOLEANS) as editor:
        assert await editor.prompt(await editor.new()) == "end_turn"
        assert editor.said() == "code large False;"
        told = [values(update["configOptions"]) for update in editor.updates("config_option_update")]
        assert [(t["mode"], t["model"], t["fast"]) for t in told] == [
            ("code", "small", True),
            ("code", "large", True),
            ("code", "large", False),
        ]


@pytest.mark.parametrize(
    "option, value",
    [
        ("model", "none"),
        ("model", ""),
        ("model", True),
        ("fast", "yes"),
        ("fast", 1),
        ("mode", "none"),
        ("mode", True),
        ("none", "small"),
        ("", "small"),
    ],
)
async def test_what_was_not_offered_is_refused_and_changes_nothing(option: str, value: Any) -> None:
    """R-307."""
    async with editing(choosing(), **BOOLEANS) as editor:
        session = await editor.new()
        params = {"sessionId": session, "configId": option, "value": value}
        error = await editor.fails("session/set_config_option", params)
        assert error.code == -32602
        assert editor.updates("config_option_update") == []
        await editor.prompt(session)
        assert editor.said() == "ask small True;"


async def test_an_unknown_mode_is_refused_and_changes_nothing() -> None:
    async with editing(choosing()) as editor:
        session = await editor.new()
        error = await editor.fails("session/set_mode", {"sessionId": session, "modeId": "none"})
        assert error.code == -32602
        assert "ask, code" in error.message
        await editor.prompt(session)
        assert editor.said() == "ask small True;"


async def test_settings_can_change_while_a_turn_runs() -> None:
    """R-300: idle or mid-turn; a model takes effect with what is asked next (C13)."""
    go_on = asyncio.Event()

    async def reply(turn: Any) -> Any:
        yield await tell_settings(turn)
        await go_on.wait()
        yield await tell_settings(turn)

    async with editing(choosing(reply)) as editor:
        session = await editor.new()
        prompt = asyncio.create_task(editor.call("session/prompt", prompt_params(session)))
        await editor.until_said(";")
        await editor.call("session/set_mode", {"sessionId": session, "modeId": "code"})
        await editor.set_option(session, "model", "large")
        go_on.set()
        await prompt
        assert editor.said() == "ask small True;code large True;"


# -- slash commands ---------------------------------------------------------------------


def commanding(**options: Any) -> Agent:
    async def otherwise(turn: Any) -> str:
        return f"otherwise {turn.text}"

    agent = agent_of(otherwise, **options)

    @agent.command("help", "What I can do")
    async def help(turn: Any) -> Any:
        assert turn.command == "help"
        yield f"help<{turn.argument}>"

    @agent.command("mode", "Change the mode", hint="ask or code")
    def mode(turn: Any) -> str:
        return f"mode<{turn.argument}>"

    return agent


ANNOUNCED = [
    {"name": "help", "description": "What I can do"},
    {"name": "mode", "description": "Change the mode", "input": {"hint": "ask or code"}},
]


async def announced(editor: FakeEditor) -> list[Json]:
    return await editor.until(lambda: editor.updates("available_commands_update"))


async def test_commands_are_announced_at_every_opening(store: Store) -> None:
    """C22, R-310: the editor knows the session's id by then. Before the answer to a load, which ends it."""
    async with editing(commanding(store=store)) as editor:
        session = await editor.new()
        (told,) = await announced(editor)
        assert told["availableCommands"] == ANNOUNCED
        for method in ("session/load", "session/resume", "session/fork"):
            editor.forget()
            await editor.load(session, method)
            (told,) = await announced(editor)
            assert told["availableCommands"] == ANNOUNCED
            expected = [method, "available_commands_update"]
            assert editor.order()[-2:] == (expected[::-1] if method == "session/load" else expected)


async def test_announcements_are_no_history(store: Store) -> None:
    async with editing(commanding(store=store)) as editor:
        session = await editor.new()
        await editor.prompt(session, "/help")
        editor.forget()
        await editor.load(session)
        assert editor.order().count("available_commands_update") == 1  # the one of this opening


@pytest.mark.parametrize(
    "prompt, said",
    [
        ("/help", "help<>"),
        ("/help ", "help<>"),
        ("/help me please", "help<me please>"),
        ("  /help  spaced  ", "help<spaced>"),
        ("/mode code", "mode<code>"),
        ("/unknown thing", "otherwise /unknown thing"),
        ("/helpme", "otherwise /helpme"),
        ("/Help", "otherwise /Help"),
        ("/ help", "otherwise / help"),
        ("/", "otherwise /"),
        ("//help", "otherwise //help"),
        ("say /help", "otherwise say /help"),
        ("help", "otherwise help"),
    ],
)
async def test_a_command_goes_to_its_handler_before_the_prompt_handler(prompt: str, said: str) -> None:
    """C22, R-310."""
    async with editing(commanding()) as editor:
        assert await editor.prompt(await editor.new(), prompt) == "end_turn"
        assert editor.said() == said


async def test_other_blocks_may_accompany_a_command() -> None:
    """R-310: what was attached is in `turn.prompt`, the argument is what was typed."""
    agent = agent_of(lambda turn: "otherwise")

    @agent.command("look", "Look at files")
    async def look(turn: Any) -> str:
        return f"<{turn.argument}> {len(turn.prompt)}"

    blocks = [
        text("/look closely"),
        {"type": "resource", "resource": {"uri": "file:///b.py", "text": "print()"}},
    ]
    async with editing(agent) as editor:
        await editor.prompt(await editor.new(), blocks)
        assert editor.said() == "<closely> 2"


async def test_a_command_that_fails_fails_its_prompt_only() -> None:
    agent = commanding()

    @agent.command("crash", "Crashes")
    async def crash(turn: Any) -> None:
        raise RuntimeError("crash")

    async with editing(agent) as editor:
        session = await editor.new()
        assert (await editor.prompt_fails(session, "/crash")).code == -32603
        assert await editor.prompt(session, "/help") == "end_turn"
