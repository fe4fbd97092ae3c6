"""What an editor may not send."""

import re

import pytest

from acpella.agent.guards import (
    check_absolute,
    check_history,
    check_places,
    checked_id,
    new_session_id,
    no_session,
)
from acpella.errors import InvalidParams
from acpella.schema import McpServerHttp, McpServerSse, McpServerStdio
from acpella.sessions import InvalidDocument


def test_ids_of_ours_pass_their_own_check() -> None:
    made = {new_session_id() for _ in range(100)}
    assert len(made) == 100
    assert all(re.fullmatch(r"sess_[0-9a-f]{32}", checked_id(session_id)) for session_id in made)


@pytest.mark.parametrize("session_id", ["", "a b", "../a", "a/b", "a\0", "ä", "a" * 129, "a\n"])
def test_what_cannot_be_an_id_reaches_no_store(session_id: str) -> None:
    """C20."""
    with pytest.raises(InvalidParams, match="a session id has"):
        checked_id(session_id)


def test_a_session_that_is_not_open_is_named() -> None:
    assert no_session("s").data == {"sessionId": "s"}


@pytest.mark.parametrize("path", ["", "a", "./a", "../a", "/a\0b"])
def test_paths_are_absolute(path: str) -> None:
    """R-020, R-150."""
    with pytest.raises(InvalidParams, match="cwd must be an absolute path"):
        check_absolute(path)
    with pytest.raises(InvalidParams, match="each of additionalDirectories"):
        check_places("/a", ["/b", path], [], frozenset())


def test_only_offered_mcp_transports_are_taken() -> None:
    """R-154."""
    http = McpServerHttp(name="h", url="http://localhost", headers=[])
    sse = McpServerSse(name="s", url="http://localhost", headers=[])
    stdio = McpServerStdio(name="c", command="/bin/true", args=[], env=[])
    check_places("/a", [], [stdio], frozenset())
    check_places("/a", [], [http, sse, stdio], frozenset({"http", "sse"}))
    with pytest.raises(InvalidParams, match="MCP servers over sse"):
        check_places("/a", [], [http, sse], frozenset({"http"}))


def test_an_imported_history_is_one_that_editors_can_read() -> None:
    good = b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}'
    check_history("/a", [good, b'{"sessionUpdate":"from_the_future","x":1}'])
    with pytest.raises(InvalidDocument, match="update 2 of the session document is wrong"):
        check_history("/a", [good, b'{"sessionUpdate":"agent_message_chunk"}'])
    with pytest.raises(InvalidDocument, match="absolute path"):
        check_history("/a\0", [])
