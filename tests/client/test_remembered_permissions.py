"""D4, C21: answers for always."""

import asyncio
import json
import os
import shlex
import stat
from pathlib import Path
from typing import Any

import pytest
from scripting import Script

from acpella.client import AgentServer, ClientSettings, Permissions, Remembered, Rule, connect
from acpella.client.permission_keys import key_of
from acpella.client.targets import identity_of
from acpella.schema import ToolCallUpdate, decode
from acpella.sessions import RememberedPermissions
from acpella.transport import ProcessChannel

pytestmark = pytest.mark.anyio

ASKS = """
def prompt(request):
    call = json.loads(request["params"]["prompt"][0]["text"])
    kinds = ("allow_once", "allow_always", "reject_once", "reject_always")
    options = [{"optionId": k, "name": k, "kind": k} for k in kinds]
    got = ask("session/request_permission", {"sessionId": SESSION, "options": options,
        "toolCall": {"toolCallId": str(time.time()), **call}})
    say(got["result"]["outcome"].get("optionId", "cancelled"))
    return "end_turn"
serve(prompt)
"""

STATUS = '{"title": "Terminal", "kind": "execute", "rawInput": {"command": "git status"}}'
PUSH = '{"title": "Terminal", "kind": "execute", "rawInput": {"command": "git push"}}'


class User:
    """Answers every question the same way, and counts them."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.asked = 0

    async def __call__(self, request: Any) -> Any:
        self.asked += 1
        return next(option for option in request.options if option.kind == self.kind)


def files(home: Path) -> list[Path]:
    return list(home.rglob("*.toml"))


async def answers(command: list[str], permissions: Permissions, project: Path, *calls: str) -> list[str]:
    async with asyncio.timeout(20), connect(command, permissions=permissions) as agent:
        session = await agent.new_session(project)
        return [(await session.prompt(call)).text for call in calls]


async def test_always_holds_for_that_very_command_and_agent(script: Script, project: Path) -> None:
    user = User("allow_always")
    first, other = script(ASKS), script(ASKS)
    permissions = Permissions("ask", ask=user, remembered=True)
    assert await answers(first, permissions, project, STATUS, STATUS) == ["allow_always", "allow_once"]
    assert user.asked == 1, "the second was remembered"
    await answers(first, permissions, project, PUSH)
    assert user.asked == 2, "the same tool with another command is another thing"
    await answers(other, permissions, project, STATUS)
    assert user.asked == 3, "another agent is another"


async def test_answers_are_listed_revoked_and_kept_in_the_users_own_file(
    script: Script, project: Path, own_home: Path
) -> None:
    user = User("reject_always")
    permissions = Permissions("ask", ask=user, remembered=True)
    command = script(ASKS)
    await answers(command, permissions, project, STATUS, PUSH)
    again = Permissions("allow-all", remembered=True)  # as another process would
    name = shlex.join(command)
    push, status = f'execute "git push" (in {project})', f'execute "git status" (in {project})'
    assert again.list_remembered() == [Remembered(name, push, "deny"), Remembered(name, status, "deny")]
    (file,) = files(own_home)
    assert file.name == "permissions.toml"
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert await answers(script(ASKS), Permissions("allow-all"), project, PUSH) == ["allow_once"]
    assert again.revoke(name, push) == 1
    assert again.revoke(name, push) == 0
    assert [known.what for known in permissions.list_remembered(name)] == [status]
    assert again.revoke(name) == 1
    assert permissions.list_remembered() == []


async def test_a_deny_rule_wins_over_what_was_remembered(
    script: Script, project: Path, tmp_path: Path
) -> None:
    file = tmp_path / "answers.toml"
    command = script(ASKS)
    await answers(command, Permissions("ask", ask=User("allow_always"), remembered=file), project, STATUS)
    strict = Permissions("ask", remembered=file, rules=[Rule("deny", kinds=["execute"])])
    assert await answers(command, strict, project, STATUS) == ["reject_once"]
    assert await answers(command, Permissions("deny-all", remembered=file), project, STATUS) == [
        "reject_once"
    ]
    assert await answers(command, Permissions("ask", remembered=file), project, STATUS) == ["allow_once"]


@pytest.mark.parametrize(
    "call",
    [
        '{"kind": "edit", "locations": [{"path": "/p/secret/../secret/a"}]}',
        '{"kind": "edit", "locations": [{"path": "/p/ok"}, {"path": "/p/x/../secret/a"}]}',
        '{"kind": "edit", "content": [{"type": "diff", "path": "/p/secret/a", "newText": "x"}]}',
    ],
)
async def test_a_deny_rule_sees_every_path_of_a_call(script: Script, project: Path, call: str) -> None:
    permissions = Permissions("allow-all", rules=[Rule("deny", paths=["/p/secret/*"])])
    assert await answers(script(ASKS), permissions, project, call) == ["reject_once"]


async def test_nothing_is_remembered_unless_asked_to(script: Script, project: Path, own_home: Path) -> None:
    user = User("allow_always")
    permissions = Permissions("ask", ask=user)
    await answers(script(ASKS), permissions, project, STATUS, STATUS)
    assert user.asked == 2
    assert permissions.list_remembered() == [] and permissions.revoke("agent1.py") == 0
    assert files(own_home) == []


async def test_long_commands_are_told_apart(script: Script, project: Path, tmp_path: Path) -> None:
    user = User("allow_always")
    permissions = Permissions("ask", ask=user, remembered=tmp_path / "answers.toml")
    calls = ['{"title": "x", "rawInput": {"command": "' + "x" * 5000 + end + '"}}' for end in "ab"]
    await answers(script(ASKS), permissions, project, *calls, *calls)
    assert user.asked == 2
    assert all(len(known.what) <= 310 + len(str(project)) for known in permissions.list_remembered())


@pytest.mark.parametrize("how", ["list", "path", "text", "relative"])
async def test_programs_of_one_file_name_do_not_share_answers(
    script: Script, project: Path, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    python, made = script(ASKS)
    user = User("allow_always")
    permissions = Permissions("ask", ask=user, remembered=True)
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        program = tmp_path / place / "agent.py"
        os.replace(made, program)
        made = script(ASKS)[1]
        monkeypatch.chdir(tmp_path / place)
        targets: dict[str, Any] = {
            "list": [python, str(program)],
            "path": program,
            "text": f"{python} {program}",
            "relative": [python, "agent.py"],
        }
        for _ in range(2):
            async with asyncio.timeout(20), connect(targets[how], permissions=permissions) as agent:
                assert agent.name == "agent.py", "people see the short one"
                assert str(program) in agent.remembered_as
                await (await agent.new_session(project)).prompt(STATUS)
    assert user.asked == 2, "each is asked for once"
    assert len(permissions.list_remembered()) == 2


async def test_what_was_kept_under_a_file_name_is_listed_but_holds_for_nobody(
    script: Script, project: Path, tmp_path: Path
) -> None:
    file = tmp_path / "answers.toml"
    file.write_text('["agent1.py"]\n"git status" = "allow"\n', encoding="utf-8")
    permissions = Permissions("ask", ask=User("reject_once"), remembered=file)
    assert await answers(script(ASKS), permissions, project, STATUS) == ["reject_once"]
    assert permissions.list_remembered() == [Remembered("agent1.py", "git status", "allow")]
    assert permissions.revoke("agent1.py") == 1


async def test_a_name_of_the_settings_is_the_name_of_the_answers(
    script: Script, project: Path, tmp_path: Path
) -> None:
    python, program = script(ASKS)
    settings = ClientSettings({"mine": AgentServer(python, [program])})
    permissions = Permissions("ask", ask=User("allow_always"), remembered=True)
    async with (
        asyncio.timeout(20),
        connect("mine", settings=settings, permissions=permissions) as agent,
    ):
        await (await agent.new_session(project)).prompt(STATUS)
    assert permissions.list_remembered() == [
        Remembered("mine", f'execute "git status" (in {project})', "allow")
    ]


def test_what_answers_are_kept_under_holds_no_secrets(tmp_path: Path) -> None:
    assert identity_of(["agent", "--token", "hunter2hunter2"]) == "agent --token ***"
    assert "hunter2" not in identity_of("https://me:hunter2@example.com/acp")


async def test_a_channel_says_whose_answers_are_meant(script: Script, project: Path) -> None:
    permissions = Permissions("ask", ask=User("allow_always"), remembered=True)
    command = script(ASKS)
    for name, kept in ((None, shlex.join(command)), ("codex", "codex")):
        async with (
            asyncio.timeout(20),
            connect(ProcessChannel(command), permissions=permissions, remembered_as=name) as agent,
        ):
            await (await agent.new_session(project)).prompt(STATUS)
        assert kept in [known.agent for known in permissions.list_remembered()]


# -- what an answer is about -----------------------------------------------------------------------


def call(**fields: Any) -> ToolCallUpdate:
    return decode(ToolCallUpdate, json.dumps({"toolCallId": "c", **fields}).encode())


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "Bash", "kind": "execute"},
        {"title": "Bash", "kind": "execute", "rawInput": {}},
        {"title": "Create file", "kind": "edit", "rawInput": {"command": "create", "path": "a"}},
        {"title": "write_text_file", "kind": "edit", "locations": [{"path": "a.txt"}]},
        {"locations": [{"path": "/a.txt"}]},
    ],
)
def test_nothing_is_remembered_of_a_call_that_says_neither_command_nor_files(fields: dict[str, Any]) -> None:
    assert key_of(call(**fields), ["/p"]) == ""


def test_commands_that_differ_anywhere_are_different_things() -> None:
    raws: list[dict[str, Any]] = [
        {"command": "git"},
        {"command": "git", "args": ["push"]},
        {"command": ["git", "push x"]},
        {"command": ["git", "push", "x"]},
        {"command": "git", "cwd": "/elsewhere"},
        {"command": "git", "env": {"GIT_SSH": "evil"}},
    ]
    keys = {key_of(call(title="Bash", rawInput=raw), ["/p"]) for raw in raws}
    assert len(keys) == len(raws) and "" not in keys
    assert key_of(call(rawInput={"command": "git", "cwd": "/p/"}), ["/p"]) == 'execute "git" (in /p)'
    assert key_of(call(rawInput={"command": "git"}), ["/q"]) not in keys


def test_a_title_counts_with_its_kind_and_all_its_files() -> None:
    files = [{"path": "/p/a"}, {"path": "/p/b"}]
    keys = {
        key_of(call(title="notes", kind=kind, locations=files[:count]), ["/p"])
        for kind in ("edit", "delete")
        for count in (1, 2)
    }
    assert len(keys) == 4


def test_always_for_a_change_of_files_covers_all_that_goes_into_it() -> None:
    """The same title and file stood for another command, and for another place to move to."""
    place: dict[str, Any] = {"title": "Remove files", "locations": [{"path": "/p/build"}]}
    inputs: list[dict[str, Any]] = [
        {"kind": "delete", "rawInput": {"command": "rm -r build"}},
        {"kind": "delete", "rawInput": {"command": "rm -rf ~ /srv"}},
        {"kind": "move", "rawInput": {"to": "/p/trash"}},
        {"kind": "move", "rawInput": {"to": "/etc/cron.d"}},
        {"kind": "edit", "rawInput": {"path": "/p/build", "content": "one"}},
        {"kind": "edit", "rawInput": {"path": "/p/build", "content": "two"}},
        {"kind": "read", "rawInput": {"command": "cat build"}},
        {"kind": "read", "rawInput": {"path": "/etc/passwd"}},
    ]
    keys = {key_of(call(**place, **fields), ["/p"]) for fields in inputs}
    assert len(keys) == len(inputs) and "" not in keys


def test_always_for_an_edit_that_is_shown_is_about_its_file() -> None:
    def edit(text: str, **more: Any) -> str:
        diff = {"type": "diff", "path": "/p/a", "oldText": "", "newText": text}
        raw = {"file_path": "/p/a", "old_string": "", "new_string": text, **more}
        return key_of(call(title="Edit a", kind="edit", content=[diff], rawInput=raw), ["/p"])

    assert edit("one") == edit("two") != ""
    assert edit("one", hook="make all") != edit("one")


def test_a_tool_whose_input_has_a_command_is_not_the_one_that_runs_commands() -> None:
    raw = {"command": "git status"}
    keys = {
        key_of(call(title="Any", kind=kind, rawInput=raw), ["/p"]) for kind in ("execute", "other", "fetch")
    }
    assert len(keys) == 3


def test_no_text_of_an_agent_stands_for_a_question_of_another_kind() -> None:
    """Whoever allowed to read a file with a strange title always had allowed a command as well."""
    read = call(title="notes; touch PWNED #", kind="read", locations=[{"path": "/etc/hostname"}])
    run = {"command": "read notes; touch PWNED #: /etc/hostname"}
    assert key_of(read, ["/p"]) != key_of(call(title="x", kind="execute", rawInput=run), ["/p"])
    word = call(title="x", kind="execute", rawInput={"command": 'bash {"stdin": "touch PWNED"}'})
    fed = call(title="x", kind="execute", rawInput={"command": "bash", "stdin": "touch PWNED"})
    assert key_of(word, ["/p"]) != key_of(fed, ["/p"])
    search = call(title="x", kind="search", rawInput={"command": "foo; rm -rf x"})
    assert key_of(search) != key_of(call(title="x", rawInput={"command": "search foo; rm -rf x"}))
    place = call(title="x", kind="execute", rawInput={"command": "make (in /q)"})
    assert key_of(place) != key_of(call(title="x", kind="execute", rawInput={"command": "make"}), ["/q)"])


def test_an_address_that_is_fetched_can_be_remembered() -> None:
    one, other = (
        key_of(call(title="Fetch", kind="fetch", rawInput={"url": url}), ["/p"])
        for url in ("https://a.example/", "https://a.example/?q=secret")
    )
    assert one and other and one != other


def test_half_a_character_does_not_break_the_file_of_answers(tmp_path: Path) -> None:
    file = RememberedPermissions(tmp_path / "answers.toml")
    half = ToolCallUpdate(tool_call_id="c", raw_input={"command": "echo \ud800"})
    file.remember("agent", key_of(half), "allow")
    assert RememberedPermissions(file.path).get("agent", key_of(half)) == "allow"


def test_a_project_whose_name_is_not_utf_8_does_not_make_the_answers_forgotten(tmp_path: Path) -> None:
    """A malformed file counts as empty: "never" would hold no longer."""
    file = RememberedPermissions(tmp_path / "answers.toml")
    call = ToolCallUpdate(tool_call_id="c", raw_input={"command": "git push"})
    file.remember("agent", key_of(call), "deny")
    strange = key_of(call, [os.fsdecode(b"/projects/\xff")])
    file.remember("agent", strange, "allow")
    again = RememberedPermissions(file.path)
    assert (again.get("agent", key_of(call)), again.get("agent", strange)) == ("deny", "allow")
    assert again.forget("agent", strange)
    assert again.all("agent") == {key_of(call): "deny"}


def test_an_answer_is_revoked_even_by_a_line_that_is_mistyped(tmp_path: Path) -> None:
    """A file that cannot be read allows nothing, in a process that read it before, too."""
    file = tmp_path / "permissions.toml"
    remembered = RememberedPermissions(file)
    remembered.remember("agent", "git push", "allow")
    assert remembered.get("agent", "git push") == "allow"
    file.write_text('[agent]\n"git push" = no, not any more\n', encoding="utf-8")
    assert remembered.get("agent", "git push") is None
