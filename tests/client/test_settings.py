"""Settings files as people write them: comments, trailing commas, slips of the pen."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpella.client import ClientSettings, SettingsError
from acpella.client.jsonc import parse, strip

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
