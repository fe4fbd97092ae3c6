"""`Agent`, `Turn` and `Session` show what authors need, and nothing that only the package needs."""

import inspect

import acpella
from acpella.agent import Agent, Session, Turn
from acpella.agent.codec.v1 import CodecV1
from acpella.agent.definition import Definition
from acpella.agent.editor import Editor
from acpella.agent.operations import Workplace
from acpella.agent.session import SessionCore
from acpella.agent.turn_core import TurnCore
from acpella.sessions import SessionRecord

AGENT = """
    close command commands export_session import_session is_logged_in modes name on_close on_logout on_mode
    on_notification on_option on_prompt on_request on_session open options run serve_on session settings store
    version
"""

TURN = """
    after_reply argument cancelled command elicit elicit_url extension files notice notify permit plan prompt
    remembered say session shell stop stop_reason text think title tokens tool under update usage
"""

SESSION = """
    change_directory cwd directories full_path id jail mcp_servers mode notice option roots save set_mode
    set_option set_title shows start state title update
"""


def a_session() -> SessionCore:
    definition = Definition("seen")
    record = SessionRecord(id="s", cwd="/", created_at="", updated_at="")
    return SessionCore(definition, Editor(CodecV1(definition)), record, Workplace("/"), log_writer=None)


def shown(thing: object) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]


def test_an_agent_shows_what_authors_need() -> None:
    assert shown(Agent("seen")) == AGENT.split()


def test_a_turn_shows_what_authors_need() -> None:
    assert shown(Turn(TurnCore(Definition("seen"), a_session()), [])) == TURN.split()


def test_a_session_shows_what_authors_need() -> None:
    assert shown(a_session().session) == SESSION.split()


def test_everything_shown_is_explained() -> None:
    for kind in (Agent, Turn, Session):
        for name in shown(kind):
            value = inspect.getattr_static(kind, name)
            if name not in ("id", "name", "version"):
                assert inspect.getdoc(value), f"{kind.__name__}.{name}"


def test_the_coder_is_there_without_another_import() -> None:
    assert acpella.coder.agent is not None
