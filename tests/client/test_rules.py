"""D4: rules say what they mean or fail at once, and a deny rule holds for all that is served."""

import asyncio
import logging
import os
import subprocess
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from scripting import Script

from acpella.client import Permissions, Rule, Terminals, Workspace, connect
from acpella.errors import RpcError
from acpella.schema import ToolCallLocation, ToolCallUpdate, WriteTextFileRequest

pytestmark = pytest.mark.anyio

SERVED = """
def prompt(request):
    method, params = json.loads(request["params"]["prompt"][0]["text"])
    got = ask(method, {"sessionId": SESSION, **params})
    say(got["error"]["message"] if "error" in got else json.dumps(got["result"]))
    return "end_turn"
serve(prompt)
"""

ASKS = """
def prompt(request):
    options = [{"optionId": "yes-1", "name": "Yes", "kind": "allow_once"},
               {"optionId": "no-1", "name": "No", "kind": "reject_once"}]
    got = ask("session/request_permission", {"sessionId": SESSION, "options": options,
        "toolCall": {"toolCallId": "c", "title": "Do it"}})
    say(json.dumps(got.get("error") or got["result"]["outcome"]))
    return "end_turn"
serve(prompt)
"""


async def served(
    command: list[str], project: Path, method: str, params: dict[str, Any], **options: Any
) -> str:
    import json

    async with asyncio.timeout(20), connect(command, **options) as agent:
        session = await agent.new_session(project)
        return (await session.prompt(json.dumps([method, params]))).text


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        ({"decision": "reject"}, ValueError, "'allow' or 'deny'"),
        ({"decision": "Deny"}, ValueError, "'allow' or 'deny'"),
        ({"decision": "allow", "paths": "*/docs/*"}, TypeError, r"paths=\['\*/docs/\*'\]"),
        ({"decision": "allow", "paths": Path("/srv")}, TypeError, "list"),
        ({"decision": "deny", "kinds": "edit"}, TypeError, r"kinds=\['edit'\]"),
        ({"decision": "deny", "kinds": ["write"]}, ValueError, "read, edit, delete, move"),
        ({"decision": "deny", "kinds": ["exec"]}, ValueError, "did you mean 'execute'"),
        ({"decision": "deny", "paths": [""]}, ValueError, "glob"),
        ({"decision": "deny", "paths": [5]}, ValueError, "glob"),
        ({"decision": "deny", "paths": ["../other/*"]}, ValueError, "whole path"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(arguments: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Rule(**arguments)


def test_rules_are_given_as_a_list_of_rules() -> None:
    for rules in (Rule("deny"), ["deny"], "deny"):
        with pytest.raises(TypeError, match="list of Rule"):
            Permissions(rules=rules)  # type: ignore[arg-type] - that is the mistake


@pytest.mark.parametrize(
    "glob, path, hits",
    [
        ("notes.txt", "/p/notes.txt", True),
        ("notes.txt", "/p/deep/down/notes.txt", True),
        ("notes.txt", "/p/notes.txt.old", False),
        ("build", "/p/build/a/b", True),
        ("build/", "/p/build/a/b", True),
        ("docs/api", "/p/docs/api/x.md", True),
        ("./docs/api", "/p/docs/api/x.md", True),
        ("docs/api", "/p/old/docs/api/x.md", False),
        ("docs/*", "/p/docs/a/b.md", True),
        ("docs/*", "/elsewhere/docs/a", False),
        ("docs/**/x.md", "/p/docs/x.md", True),
        ("docs/**/x.md", "/p/docs/a/b/x.md", True),
        ("*/docs/*", "/p/docs/a", True),
        ("*/docs", "/p/docs/a", True),
        ("*.pem", "/p/a/b.pem", True),
        ("*.pem", "/elsewhere/b.pem", True),
        ("/p/secret", "/p/secret/a", True),
        ("/p/secret", "/p/secrets", False),
        ("/p/secret/*", "/p/x/../secret/a", True),
        (".", "/p/anything", True),
        (".", "/elsewhere/anything", False),
        ("notes.txt", "deep/notes.txt", True),
        ("/p/deep/*", "deep/notes.txt", True),
    ],
)
@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_what_a_glob_covers(decision: Any, glob: str, path: str, hits: bool) -> None:
    call = ToolCallUpdate(tool_call_id="c", kind="edit", locations=[ToolCallLocation(path=path)])
    assert Rule(decision, paths=[glob]).matches(call, [Path("/p")]) is hits


def test_names_on_the_way_to_the_session_do_not_count() -> None:
    call = ToolCallUpdate(tool_call_id="c", locations=[ToolCallLocation(path="/src/p.py/evil.sh")])
    for glob in ("src", "*.py", "p.py"):
        assert not Rule("allow", paths=[glob]).matches(call, ["/src/p.py"])
        assert not Rule("deny", paths=[glob]).matches(call, ["/src/p.py"])


def test_outside_of_the_session_a_name_is_denied_but_not_allowed() -> None:
    call = ToolCallUpdate(tool_call_id="c", locations=[ToolCallLocation(path="/elsewhere/notes.txt")])
    assert Rule("deny", paths=["notes.txt"]).matches(call, ["/p"])
    assert not Rule("allow", paths=["notes.txt"]).matches(call, ["/p"])


@pytest.mark.parametrize("rule", [Rule("deny", paths=["*/evil.txt"]), Rule("deny", paths=["evil.txt"])])
@pytest.mark.parametrize("name", ["evil.txt", "deep/evil.txt", "link"])
async def test_a_deny_rule_holds_for_files_that_are_written_without_a_question(
    script: Script, project: Path, rule: Rule, name: str
) -> None:
    (project / "link").symlink_to("evil.txt")
    options = {"files": Workspace(write=True), "permissions": Permissions("allow-all", rules=[rule])}
    params = {"path": str(project / name), "content": "x"}
    text = await served(script(SERVED), project, "fs/write_text_file", params, **options)
    assert f"{name} must not be written: a rule of this client denies it" in text
    assert not (project / "evil.txt").exists() and not (project / "deep").exists()
    params["path"] = str(project / "good.txt")
    await served(script(SERVED), project, "fs/write_text_file", params, **options)
    assert (project / "good.txt").read_text(encoding="utf-8") == "x"


async def test_a_deny_rule_holds_for_files_that_are_read(script: Script, project: Path) -> None:
    (project / "secret").mkdir()
    (project / "secret" / "a").write_text("hidden", encoding="utf-8")
    (project / "door").symlink_to("secret")
    (project / "open").write_text("shown", encoding="utf-8")
    for rule, name, shown in (
        (Rule("deny", paths=["secret"]), "secret/a", False),
        (Rule("deny", paths=["secret"]), "door/a", False),
        (Rule("deny", kinds=["read"]), "open", False),
        (Rule("deny", kinds=["edit"]), "secret/a", True),
        (Rule("deny", paths=["secret"]), "open", True),
    ):
        permissions = Permissions("allow-all", rules=[rule])
        params = {"path": str(project / name)}
        text = await served(script(SERVED), project, "fs/read_text_file", params, permissions=permissions)
        assert ("content" in text) is shown, (rule, name, text)
        assert ("denies" in text) is not shown


@pytest.mark.parametrize("rule", [Rule("deny", kinds=["execute"]), Rule("deny"), Rule("deny", paths=["."])])
async def test_a_deny_rule_holds_for_commands(script: Script, project: Path, rule: Rule) -> None:
    permissions = Permissions("allow-all", rules=[rule])
    params = {"command": "touch", "args": [str(project / "ran")]}
    options = {"permissions": permissions, "terminals": Terminals()}
    text = await served(script(SERVED), project, "terminal/create", params, **options)
    assert "a rule of this client denies it" in text
    assert not (project / "ran").exists()


@pytest.mark.parametrize(
    "name", [".git/hooks/pre-commit", ".git/HEAD", ".GIT/HEAD", ".vscode/tasks.json", "way"]
)
async def test_files_that_programs_run_are_read_but_not_written(
    script: Script, project: Path, name: str
) -> None:
    for place in (".git", ".vscode"):
        (project / place).mkdir()
    (project / ".git" / "HEAD").write_text("old", encoding="utf-8")
    (project / "way").symlink_to(".git/HEAD")
    params = {"path": str(project / name), "content": "new"}
    files = Workspace(write=True)
    text = await served(script(SERVED), project, "fs/write_text_file", params, files=files)
    assert "programs run by themselves" in text and "hooks=True" in text
    assert (project / ".git" / "HEAD").read_text(encoding="utf-8") == "old"
    assert os.listdir(project / ".git") == ["HEAD"] and os.listdir(project / ".vscode") == []
    read = {"path": str(project / ".git" / "HEAD")}
    assert "old" in await served(script(SERVED), project, "fs/read_text_file", read)
    files = Workspace(write=True, hooks=True)
    assert await served(script(SERVED), project, "fs/write_text_file", params, files=files) in ("null", "{}")
    assert (project / name).read_text(encoding="utf-8") == "new"


REPOSITORY = {
    "HEAD": "ref: refs/heads/main\n",
    "objects/info/x": "",
    "refs/x": "",
    "config": '[core]\n bare = false\n worktree = {0}\n fsmonitor = "touch {0}/ran; false"\n',
}


@pytest.mark.parametrize("names", list(permutations(REPOSITORY)), ids=" ".join)
async def test_no_order_of_writes_makes_a_repository_whose_config_git_obeys(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    """Any directory with a HEAD, objects and refs is one, whatever its name."""
    place = tmp_path / "docs"
    place.mkdir()
    refused: list[str] = []
    for name in names:
        text = REPOSITORY[name].replace("{0}", str(place))
        request = WriteTextFileRequest(session_id="s", path=str(place / name), content=text)
        try:
            await Workspace(write=True).write([tmp_path], request)
        except RpcError as error:
            assert "programs run by themselves" in str(error)
            refused.append(name)
    subprocess.run(["git", "status"], cwd=place, capture_output=True, timeout=20)  # noqa: ASYNC221 - a test
    assert refused == ["HEAD"] and not (place / "ran").exists()


@pytest.mark.parametrize("name", ["config", "Config", "hooks/post-checkout", "refs/heads/x", "commondir"])
async def test_what_lies_beside_a_head_is_not_written(tmp_path: Path, name: str) -> None:
    """Somebody may have put a repository without a config into the project."""
    (tmp_path / "docs").mkdir()
    request = WriteTextFileRequest(session_id="s", path=str(tmp_path / "docs" / name), content="x")
    await Workspace(write=True).write([tmp_path], request)
    (tmp_path / "docs" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    with pytest.raises(RpcError, match="programs run by themselves"):
        await Workspace(write=True).write([tmp_path], request)


async def test_a_session_inside_such_a_directory_can_be_written(script: Script, project: Path) -> None:
    inside = project / ".git" / "worktree"
    inside.mkdir(parents=True)
    params = {"path": str(inside / "a"), "content": "x"}
    await served(script(SERVED), inside, "fs/write_text_file", params, files=Workspace(write=True))
    assert (inside / "a").read_text(encoding="utf-8") == "x"


@pytest.mark.parametrize(
    "answer, outcome",
    [
        (lambda request: request.options[0], '"yes-1"'),
        (lambda request: "yes-1", '"yes-1"'),
        (lambda request: "no-1", '"no-1"'),
        (lambda request: None, "cancelled"),
    ],
)
async def test_a_plain_function_may_answer_with_an_option_or_its_id(
    script: Script, project: Path, answer: Any, outcome: str
) -> None:
    permissions = Permissions("ask", ask=answer)
    async with asyncio.timeout(20), connect(script(ASKS), permissions=permissions) as agent:
        assert outcome in (await (await agent.new_session(project)).prompt("hi")).text


@pytest.mark.parametrize("answer", [True, False, "allow", 5])
async def test_an_answer_that_is_none_means_no_and_is_explained(
    script: Script, project: Path, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def ask(request: Any) -> Any:
        return answer

    permissions = Permissions("ask", ask=ask)
    with caplog.at_level(logging.ERROR):
        async with asyncio.timeout(20), connect(script(ASKS), permissions=permissions) as agent:
            assert '"no-1"' in (await (await agent.new_session(project)).prompt("hi")).text
    assert "its id (yes-1, no-1), or None" in caplog.text and repr(answer) in caplog.text


def test_ask_must_be_a_function() -> None:
    with pytest.raises(TypeError, match="ask is a function"):
        Permissions("ask", ask="yes")  # type: ignore[arg-type] - that is the mistake
