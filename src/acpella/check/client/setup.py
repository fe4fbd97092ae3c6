"""How the client begins: initialization, logins, sessions."""

from typing import Any

from acpella.check.conversation import CheckedConversation, CheckedFrame, as_list, as_object
from acpella.check.paths import is_absolute
from acpella.check.requirement import OK, Area, Verdict
from acpella.check.shapes import declare_call
from acpella.schema import methods as m

__all__ = ["INITIALIZE", "SESSIONS"]

INITIALIZE = Area("initialize", "client", "Initialization", page="initialization")
SESSIONS = Area("sessions", "client", "Sessions", page="session-setup")
OPENING = ("call session/new", "call session/load", "call session/resume", "call session/fork")

declare_call(INITIALIZE, "initialize", m.INITIALIZE, rule="R-101", level="must")
declare_call(INITIALIZE, "authenticate", m.AUTHENTICATE, rule="R-122", level="capability")
declare_call(SESSIONS, "new", m.NEW_SESSION, rule="R-146", level="must")
declare_call(SESSIONS, "load", m.LOAD_SESSION, rule="R-142", level="capability")
declare_call(SESSIONS, "resume", m.RESUME_SESSION, rule="R-143", level="capability")
declare_call(SESSIONS, "list", m.LIST_SESSIONS, rule="R-160", level="capability")
declare_call(SESSIONS, "close", m.CLOSE_SESSION, rule="R-175", level="capability")
declare_call(SESSIONS, "delete", m.DELETE_SESSION, rule="R-170", level="capability")


@INITIALIZE.audit("first", rule="R-100", level="must", on=("request", "notification"))
def first(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """`initialize` is the first message."""
    if frame.method == "initialize" or talk.initialize is not None:
        return OK
    return f"{frame.method} was sent before initialize"


@INITIALIZE.audit("waits", rule="R-100", level="must", on=("call session/new", "call session/load"))
def waits(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """No session is opened before `initialize` was answered."""
    return OK if talk.initialized is not None else f"{frame.method} was sent before initialize was answered"


@INITIALIZE.audit("once", rule="R-110", level="should", on=("call initialize",))
def once(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """`initialize` is called once."""
    return OK if talk.initialize is None else "initialize was called a second time"


@INITIALIZE.audit("info", rule="R-105", level="should", on=("call initialize",))
def info(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The client says its name and version."""
    info = as_object(frame.params.get("clientInfo"))
    return OK if info.get("name") and info.get("version") else "initialize has no clientInfo"


@INITIALIZE.audit(
    "version-kept", rule="R-103", level="should", on=("call session/new", "call session/prompt")
)
def version_kept(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A client goes on only with a version that it asked for or an older one."""
    requested = talk.initialize.params.get("protocolVersion") if talk.initialize is not None else None
    if talk.version is None or not isinstance(requested, int):
        return None
    return (
        OK
        if talk.version <= requested
        else f"the client asked for version {requested} and goes on with {talk.version}"
    )


@INITIALIZE.audit("logout-gate", rule="R-120", level="must", on=("call logout", "call session/prompt"))
def logout_gate(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """`logout` is called only if the agent offers it."""
    if talk.agent_can("auth.logout"):
        return None
    return OK if frame.method != "logout" else "logout was called, and the agent does not offer it"


@INITIALIZE.audit("login-listed", rule="R-122", level="capability", on=("call authenticate",))
def login_listed(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A login is one that the agent lists."""
    id = frame.params.get("methodId")
    return (
        OK if id in [method.get("id") for method in talk.auth_methods] else f"the login {id!r} is not listed"
    )


@INITIALIZE.audit("login-not-terminal", rule="R-122", level="capability", on=("call authenticate",))
def login_not_terminal(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A login in a terminal is not passed to `authenticate`."""
    id = frame.params.get("methodId")
    methods = [method for method in talk.auth_methods if method.get("id") == id]
    terminal = any(method.get("type") == "terminal" for method in methods)
    return f"the login {id!r} belongs into a terminal" if terminal else OK


def _gate(name: str, method: str, capability: str) -> None:
    @SESSIONS.audit(
        f"{name}-gate",
        rule="R-141",
        level="must",
        on=(f"call {method}", "call session/prompt"),
        text=f"The client calls {method} only if the agent offers it.",
    )
    def gate(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        if talk.agent_can(capability):
            return None
        return OK if frame.method != method else f"{method} was called, and the agent does not offer it"


_gate("resume", "session/resume", "sessionCapabilities.resume")
_gate("delete", "session/delete", "sessionCapabilities.delete")
_gate("fork", "session/fork", "sessionCapabilities.fork")


def _offer(name: str, method: str, capability: str) -> None:
    @SESSIONS.audit(
        f"{name}-gate",
        rule="R-141",
        level="capability",
        on=(f"call {method}",),
        text=f"The client calls {method} only if the agent offers it.",
    )
    def gate(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        return OK if talk.agent_can(capability) else f"{method} was called, and the agent does not offer it"


_offer("load", "session/load", "loadSession")
_offer("list", "session/list", "sessionCapabilities.list")
_offer("close", "session/close", "sessionCapabilities.close")


@SESSIONS.audit("cwd-absolute", rule="R-020", level="must", on=OPENING)
def cwd_absolute(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The working directory of a session is absolute."""
    cwd = frame.params.get("cwd")
    return OK if isinstance(cwd, str) and is_absolute(cwd) else f"{frame.method} has the cwd {cwd!r}"


@SESSIONS.audit("directories-gate", rule="R-148", level="must", on=OPENING)
def directories_gate(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Additional directories are sent only to agents that offer them."""
    if talk.agent_can("sessionCapabilities.additionalDirectories"):
        return None
    sent = frame.params.get("additionalDirectories")
    return "additionalDirectories were sent, and the agent does not offer them" if sent else OK


@SESSIONS.audit("directories-absolute", rule="R-148", level="capability", on=OPENING)
def directories_absolute(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Additional directories are absolute."""
    paths = as_list(frame.params.get("additionalDirectories"))
    bad = [path for path in paths if not isinstance(path, str) or not is_absolute(path)]
    return f"an additional directory is {bad[0]!r}" if bad else (OK if paths else None)


def _servers(frame: CheckedFrame) -> list[dict[str, Any]]:
    return [as_object(server) for server in as_list(frame.params.get("mcpServers"))]


@SESSIONS.audit("mcp-gate", rule="R-154", level="must", on=OPENING)
def mcp_gate(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """MCP servers over http or sse are sent only to agents that offer it."""
    for server in _servers(frame):
        kind = server.get("type")
        if kind in ("http", "sse", "acp") and not talk.agent_can(f"mcpCapabilities.{kind}"):
            return f"the MCP server {server.get('name')!r} speaks {kind}, which the agent does not offer"
    return OK


@SESSIONS.audit("mcp-absolute", rule="R-020", level="capability", on=OPENING)
def mcp_absolute(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The command of an MCP server is an absolute path."""
    commands = [server.get("command") for server in _servers(frame) if "command" in server]
    bad = [command for command in commands if not isinstance(command, str) or not is_absolute(command)]
    return f"the command of an MCP server is {bad[0]!r}" if bad else (OK if commands else None)


@SESSIONS.audit("list-cursor", rule="R-161", level="capability", on=("call session/list",))
def list_cursor(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A cursor is one that the agent has sent."""
    cursor = frame.params.get("cursor")
    if cursor is None:
        return None
    sent = [as_object(f.result).get("nextCursor") for f in talk.frames if f.method == "session/list"]
    return OK if cursor in sent else f"the cursor {cursor!r} was not sent by the agent"
