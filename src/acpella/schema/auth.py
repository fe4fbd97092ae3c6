"""Logging in and out."""

from typing import Annotated, Any, Literal, TypeAlias

from ._wire import Lenient, Meta, NullAsEmpty, Pick, Wire, field

__all__ = [
    "AgentAuthCapabilities",
    "AuthAccount",
    "AuthCapabilities",
    "AuthEnvVar",
    "AuthMethod",
    "AuthMethodAgent",
    "AuthMethodEnvVar",
    "AuthMethodId",
    "AuthMethodTerminal",
    "AuthState",
    "AuthStatusCapabilities",
    "AuthStatusRequest",
    "AuthStatusResponse",
    "AuthStatusUpdateNotification",
    "AuthenticateRequest",
    "AuthenticateResponse",
    "LogoutCapabilities",
    "LogoutRequest",
    "LogoutResponse",
]

AuthMethodId: TypeAlias = str
AuthState: TypeAlias = Literal["authenticated", "unauthenticated", "not_required", "unknown"] | str


class AuthCapabilities(Wire, frozen=True, kw_only=True):
    """How the client can help to log in."""

    terminal: bool = False
    meta: Meta | None = field(default=None, name="_meta")


class LogoutCapabilities(Wire, frozen=True, kw_only=True):
    """The agent can log out."""

    meta: Meta | None = field(default=None, name="_meta")


class AuthStatusCapabilities(Wire, frozen=True, kw_only=True):
    """The agent tells who is logged in (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class AgentAuthCapabilities(Wire, frozen=True, kw_only=True):
    """What the agent offers beyond `authenticate`."""

    logout: LogoutCapabilities | None = None
    status: AuthStatusCapabilities | None = None
    meta: Meta | None = field(default=None, name="_meta")


class AuthMethodAgent(Wire, frozen=True, kw_only=True):
    """A way to log in that the agent handles by itself."""

    id: AuthMethodId
    name: str
    description: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


class AuthMethodTerminal(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """A way to log in by running the agent's program in a terminal, with more arguments and variables."""

    id: AuthMethodId
    name: str
    description: str | None = None
    args: NullAsEmpty[list[str]] = []
    env: NullAsEmpty[dict[str, str]] = {}
    meta: Meta | None = field(default=None, name="_meta")


class AuthEnvVar(Wire, frozen=True, kw_only=True):
    """A variable that a login needs (legacy)."""

    name: str
    label: str | None = None
    secret: bool = True
    optional: bool = False
    meta: Meta | None = field(default=None, name="_meta")


class AuthMethodEnvVar(Wire, frozen=True, kw_only=True, tag_field="type", tag="env_var"):
    """A way to log in by starting the agent with variables set (legacy)."""

    id: AuthMethodId
    name: str
    vars: Lenient[list[AuthEnvVar]]
    description: str | None = None
    link: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


def _method(value: dict[str, Any]) -> type:
    match value.get("type"):
        case "terminal":
            return AuthMethodTerminal
        case "env_var":
            return AuthMethodEnvVar
        case _:
            return AuthMethodAgent


AuthMethod: TypeAlias = Annotated[AuthMethodAgent | AuthMethodTerminal | AuthMethodEnvVar, Pick(_method)]


class AuthenticateRequest(Wire, frozen=True, kw_only=True):
    """Log in one of the advertised ways."""

    method_id: AuthMethodId
    meta: Meta | None = field(default=None, name="_meta")


class AuthenticateResponse(Wire, frozen=True, kw_only=True):
    """The login succeeded."""

    meta: Meta | None = field(default=None, name="_meta")


class LogoutRequest(Wire, frozen=True, kw_only=True):
    """Log out."""

    meta: Meta | None = field(default=None, name="_meta")


class LogoutResponse(Wire, frozen=True, kw_only=True):
    """Nobody is logged in any more."""

    meta: Meta | None = field(default=None, name="_meta")


class AuthAccount(Wire, frozen=True, kw_only=True):
    """An account, for display only (unstable)."""

    label: str
    active: bool | None = None
    name: str | None = None
    email: str | None = None
    organization: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


class AuthStatusRequest(Wire, frozen=True, kw_only=True):
    """Ask whether someone is logged in (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class AuthStatusResponse(Wire, frozen=True, kw_only=True):
    """Whether someone is logged in, and who (unstable)."""

    state: AuthState
    accounts: list[AuthAccount] = []
    meta: Meta | None = field(default=None, name="_meta")


class AuthStatusUpdateNotification(Wire, frozen=True, kw_only=True):
    """Someone logged in or out (unstable)."""

    state: AuthState
    accounts: list[AuthAccount] = []
    meta: Meta | None = field(default=None, name="_meta")
