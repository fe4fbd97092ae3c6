"""Settings files as people write them: comments, trailing commas, slips of the pen."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import acpella
from acpella.cli.state.settings import find
from acpella.client import ClientSettings, SettingsError, Supervisor, UntrustedSettings, connect
from acpella.client.jsonc import parse, strip
from acpella.client.settings import user_settings
from acpella.client.trust import is_project, trust
from acpella.errors import AcpellaError
from acpella.local import acting_name

pytestmark = pytest.mark.anyio

ZED = """\
// Zed settings
//
/* the usual */
{
  "ui_font_size": 16, // points
  "agent": {"default_model": {"provider": "x",},},
  "context_servers": {},
  "language_servers": ["..."],
  "theme": {"mode": "system", /* , } */ "light": "One // Light",},
  "agent_servers": {
    "Codex": {
      "type": "custom",
      "command": "codex-acp",
      "args": ["--say", "/* no comment */",],
      "env": {},
      "default_mode": "ask",
    },
  },
}
"""

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet=st.sampled_from('ab/*,]}"\\\n [{:')),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='/*,]}"\\a'), inner),
    max_leaves=20,
)
comments = st.sampled_from(["", " ", "\n", '// , } ] " x\n', '/* , " } \n ] **/', "/**/", "\t"])


def load(tmp_path: Path, text: str) -> ClientSettings:
    file = tmp_path / "settings.json"
    file.write_text(text, encoding="utf-8")
    return ClientSettings.load(file)


def test_a_file_like_that_of_zed_is_read(tmp_path: Path) -> None:
    (agent,) = load(tmp_path, ZED).agents.values()
    assert (agent.command, agent.args) == ("codex-acp", ["--say", "/* no comment */"])
    assert load(tmp_path, "\ufeff" + ZED).agents, "a mark at the beginning does no harm"


@given(st.data(), values)
def test_comments_and_trailing_commas_change_nothing(data: Any, value: Any) -> None:
    def write(value: Any) -> str:
        gap = lambda: data.draw(comments)  # noqa: E731 - short
        comma = lambda some: data.draw(st.sampled_from(["", ","])) if some else ""  # noqa: E731 - short
        if isinstance(value, list):
            inner = ",".join(gap() + write(each) + gap() for each in value)
            return f"[{inner}{comma(value)}{gap()}]"
        if isinstance(value, dict):
            parts = [f"{gap()}{json.dumps(k)}{gap()}:{gap()}{write(v)}{gap()}" for k, v in value.items()]
            return f"{{{','.join(parts)}{comma(value)}{gap()}}}"
        return json.dumps(value)

    text = data.draw(comments) + write(value) + data.draw(comments)
    assert parse(text) == value
    assert len(strip(text)) == len(text) and strip(text).count("\n") == text.count("\n")


@given(values)
def test_plain_json_is_left_as_it_is(value: Any) -> None:
    text = json.dumps(value)
    assert strip(text) == text


@given(st.text(alphabet='ab/*,]}"\\\n [{:1'))
def test_whatever_is_there_is_read_or_refused_in_words(text: str) -> None:
    try:
        parse(text)
    except ValueError as error:
        assert str(error).startswith("not JSON")


@pytest.mark.parametrize(
    "text, where",
    [
        ('// one\n{"a": 1, /* two\n lines */ "b": x}', "line 3, column 16"),
        ('{"a": [1,,]}', "line 1, column"),
        ("[,]", "line 1, column 2"),
        ("{,}", "line 1, column 2"),
        ('{"a":,}', "line 1, column 6"),
        ("{} / {}", "line 1, column 4"),
        ("{}\n/* never closed", "begins in line 2"),
        ('{"a": "never closed}', "line 1, column 7"),
        ("", "line 1, column 1"),
        ("// nothing else", "line 1, column"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, where: str) -> None:
    with pytest.raises(SettingsError, match=where):
        load(tmp_path, text)


@pytest.mark.parametrize(
    "text, words",
    [
        ('{"agent_server": {}}', "agent_server means nothing; did you mean 'agent_servers'"),
        ('{"agentServers": {}}', "did you mean 'agent_servers'"),
        ('{"mcpServers": {}}', "did you mean 'mcp_servers'"),
        ('{"agent_servers": {"x": {"command": "y", "arg": []}}}', "agent_servers.x.arg .*'args'"),
        ('{"agent_servers": {"x": {"comand": "y"}}}', "'command'"),
        ('{"agent_servers": {"x": {"url": "https://h", "header": {}}}}', "'headers'"),
    ],
)
def test_a_slip_of_the_pen_is_told(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        load(tmp_path, text)


# -- settings of a project -----------------------------------------------------------------------


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings of a project in which a program runs."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    path = tmp_path / "project" / ".acpella" / "settings.json"
    path.parent.mkdir(parents=True)
    monkeypatch.chdir(path.parents[1])
    return path


async def test_a_project_starts_no_command_of_its_own_through_the_sdk(project: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    spy = {"command": sys.executable, "args": ["-c", f"open({str(mark)!r}, 'w')"]}
    write(project, json.dumps({"agent_servers": {"codex": spy}}))
    with pytest.raises(UntrustedSettings, match="acpella agents trust"):
        connect("codex")
    with pytest.raises(UntrustedSettings, match="acpella agents trust"):
        acpella.ask("codex", "hi")
    with pytest.raises(AcpellaError, match="acpella agents trust"):
        async with Supervisor() as agents:
            await agents.start("mine", "codex").new_session(project.parent)
    assert not mark.exists()


async def test_a_token_goes_to_no_url_of_a_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACPELLA_TOKEN", "secret" * 10)
    heard: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(1000))
        writer.close()

    server = await asyncio.start_server(hear, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    url = f"http://127.0.0.1:{port}/acp"
    write(project, json.dumps({"agent_servers": {"ours": {"url": url}}}))
    async with server:
        with pytest.raises(UntrustedSettings):
            async with connect("ours"):
                pass
    assert heard == []


@pytest.mark.parametrize("name", ["settings.json", "../.acpella/settings.json", "../linked.json"])
def test_naming_the_file_of_a_project_is_no_agreement(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write(project, '{"agent_servers": {"x": {"command": "x"}}}')
    (project.parents[1] / "linked.json").symlink_to(project)
    monkeypatch.chdir(project.parent)
    for target in ("x", "agent.py"):
        with pytest.raises(UntrustedSettings, match="acpella agents trust"):
            connect(target, settings=name)
    with pytest.raises(UntrustedSettings):
        ClientSettings.find(name, on_untrusted=lambda error: None)
    trust(project, project.read_bytes())
    assert ClientSettings.find(name).agents["x"].command == "x"


def test_any_other_file_that_is_named_is_the_users_choice(project: Path) -> None:
    write(project.parent / "mine.json", '{"agent_servers": {"x": {"command": "x"}}}')
    assert ClientSettings.find(project.parent / "mine.json").agents["x"].command == "x"


async def test_what_needs_no_settings_works_beside_a_project_that_nobody_agreed_to(project: Path) -> None:
    write(project, '{"agent_servers": {"x": {"command": "x"}}}')
    async with connect(acpella.Agent("near")) as agent:
        assert agent.name == "near"
    connect([sys.executable, "agent.py"])
    connect(f"{sys.executable} agent.py")


async def test_the_sdk_uses_what_the_user_agreed_to(project: Path) -> None:
    write(project, '{"agent_servers": {"x": {"command": "x"}}}')
    trust(project, b'{"agent_servers": {"x": {"command": "x"}}}')
    assert ClientSettings.find().agents["x"].command == "x"
    write(project, '{"agent_servers": {"x": {"command": "y"}}}')
    with pytest.raises(UntrustedSettings, match="since it was changed"):
        ClientSettings.find()


def test_sdk_and_command_line_find_the_same_settings(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The project's file, also from a directory beneath, and what the user's own adds to it."""
    user = user_settings()
    user.parent.mkdir(parents=True, exist_ok=True)
    servers = {"mine": {"command": "of-the-user"}, "other": {"command": "of-the-user"}}
    user.write_text(json.dumps({"agent_servers": servers}), encoding="utf-8")
    write(project, '{"agent_servers": {"mine": {"command": "of-the-project"}}}')
    trust(project, project.read_bytes())
    repository = project.parents[1]
    (repository / ".git").mkdir()
    (repository / "beneath").mkdir()
    monkeypatch.chdir(repository / "beneath")
    settings = ClientSettings.find()
    assert settings == find(None)
    assert settings.agents["other"].command == "of-the-user"
    assert settings.agents["mine"].command == "of-the-project"
    assert settings.files == (project, user)
    assert (settings.origin("mine"), settings.origin("other")) == (project, user)


def test_another_spelling_is_the_same_file_on_some_systems() -> None:
    assert is_project(Path("/p/.ACPELLA/Settings.json"))
    assert acting_name("/p/.ACPELLA/settings.json") == ".ACPELLA"


@pytest.mark.parametrize(
    "name",
    ".acpella .hg .claude .cursor .mcp.json .devcontainer .gemini .codex .github/workflows .gitmodules "
    ".pre-commit-config.yaml .GitHub/Workflows .gitea/workflows .cargo .yarnrc.yml "
    ".nvim.lua Jenkinsfile .gitconfig .config/git .bash_aliases .Rprofile .emacs.d .vim .yarnrc "
    "lefthook.yaml "
    "lefthook.toml lefthook.json lefthook-local.toml .bashrc.d Library/LaunchAgents .local/share/systemd "
    ".config/plasma-workspace/env .config/sway .pnp.cjs .copilot/mcp-config.json .screenrc "
    ".lefthook.yml .mise .config/environment.d .local/bin .xprofile app.code-workspace .amazonq .junie "
    ".clinerules .github/actions .gdbinit .pdbrc".split(),
)
def test_settings_of_other_programs_are_files_that_programs_run_by_themselves(name: str) -> None:
    assert acting_name(f"/p/{name}/x", "/p") == name
    assert acting_name("/p/.github/x", "/p") is None


@pytest.mark.parametrize(
    "name",
    [
        *(".Git", ".git.", ".acpella ", ".acpella::$INDEX_ALLOCATION", ".acpel\u200cla", "ACPELL~1", "git~2"),
        *("MCP~1.JSO", ".v\u017fcode", "\uff0egit"),
    ],
)
def test_other_spellings_of_acting_names_count_where_some_system_takes_them_for_one(name: str) -> None:
    assert acting_name(f"/p/{name}/x", "/p") == name


@pytest.mark.parametrize("name", ["git", "acpella", "config~1", "notes.git.md", "profile"])
def test_names_that_only_look_like_acting_ones_are_left_alone(name: str) -> None:
    assert acting_name(f"/p/{name}/x", "/p") is None


@pytest.mark.parametrize("linked", [".acpella", ".acpella/settings.json"])
def test_a_link_to_settings_that_were_agreed_to_elsewhere_is_not_trusted(
    project: Path, tmp_path: Path, linked: str
) -> None:
    """Its commands would start from here: `./agent` is another program."""
    agreed, other = project.parents[1], tmp_path / "other"
    (other / linked).parent.mkdir(parents=True)
    write(project, '{"agent_servers": {"x": {"command": "./agent"}}}')
    trust(project, project.read_bytes())
    (other / linked).symlink_to(agreed / linked)
    assert ClientSettings.find(cwd=agreed).agents["x"].command == "./agent"
    with pytest.raises(UntrustedSettings):
        ClientSettings.find(cwd=other)
