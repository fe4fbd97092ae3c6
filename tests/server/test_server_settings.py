"""Every limit from a file, the environment and the program (FEATURES C24)."""

import dataclasses
from pathlib import Path

import pytest

from acpella.server import ServerSettings


def test_the_environment_goes_before_the_file_and_the_program_before_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "server.toml"
    file.write_text(
        '[server]\nmax_body = 1000\nstall_seconds = 5\nallowed_hosts = ["a.example"]\nfinish_turns = false\n'
    )
    monkeypatch.setenv("ACPELLA_SERVER_MAX_BODY", "2000")
    monkeypatch.setenv("ACPELLA_SERVER_ALLOWED_ORIGINS", "https://a.example, https://b.example")
    settings = ServerSettings.load(file, max_id=77)
    assert (settings.max_body, settings.stall_seconds, settings.max_id) == (2000, 5.0, 77)
    assert settings.allowed_hosts == ("a.example",)
    assert settings.allowed_origins == ("https://a.example", "https://b.example")
    assert settings.finish_turns is False
    assert ServerSettings.load(file, max_body=3000).max_body == 3000


def test_every_setting_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}
    for field in dataclasses.fields(ServerSettings):
        default = field.default
        value: object
        if isinstance(default, bool):
            value = not default
        elif isinstance(default, int | float):
            value = default + 1
        elif isinstance(default, tuple):
            value = ("one", "two")
        else:
            value = {
                "path": "/other",
                "mcp_commands": "no",
                "mcp_urls": "no",
                "local_users": "all",
                "command_stderr": "off",
            }.get(field.name, "word")
        given[field.name] = value
        text = ",".join(value) if isinstance(value, tuple) else str(value)
        monkeypatch.setenv("ACPELLA_SERVER_" + field.name.upper(), text)
    assert dataclasses.asdict(ServerSettings.load()) == given


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_body = 'much'", "max_body must be a whole number, not 'much'"),
        ("max_body = 0", "max_body must be at least 1"),
        ("stall_seconds = -1", "must not be negative"),
        ("allowed_hosts = 'one'", "must be a list of words"),
        ("finish_turns = 1", "finish_turns must be true or false"),
        ("mcp_commands = 'maybe'", "auto, yes or no"),
        ("mcp_urls = 'maybe'", "mcp_urls is auto, yes or no"),
        ("local_users = 'mine'", "local_users is own or all"),
        ("path = 'acp'", "begins with a slash"),
        ("max_bdy = 1", "no setting 'max_bdy'; is 'max_body' meant?"),
        ("xyz = 1", "no setting 'xyz'; there are: path"),
        ("path = '/healthz'", "path cannot be /healthz"),
        ("command_stderr = 'file'", "command_stderr is log or off"),
        ("= nonsense", "is not valid TOML"),
        ("server = 1", "must be a table"),
    ],
)
def test_mistakes_in_the_file_are_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "server.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        ServerSettings.load(file)


def test_mistakes_elsewhere_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        ServerSettings.load(tmp_path / "missing.toml")
    monkeypatch.setenv("ACPELLA_SERVER_MAX_BODY", "much")
    monkeypatch.setenv("ACPELLA_SERVER_MAX_BDY", "1")
    with pytest.raises(ValueError, match="ACPELLA_SERVER_MAX_BDY is set, but .* is 'max_body' meant"):
        ServerSettings.load()
    monkeypatch.delenv("ACPELLA_SERVER_MAX_BDY")
    with pytest.raises(ValueError, match="ACPELLA_SERVER_MAX_BODY='much' is not a whole number"):
        ServerSettings.load()
