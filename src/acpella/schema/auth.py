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
    """True if the client can run the agent's program in a terminal, where the user logs in."""
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
    """An object here, even `{}`, means that the agent answers `logout`."""
    status: AuthStatusCapabilities | None = None
    """An object here, even `{}`, means that the agent answers `auth/status` (unstable)."""
    meta: Meta | None = field(default=None, name="_meta")


class AuthMethodAgent(Wire, frozen=True, kw_only=True):
    """A way to log in that the agent handles by itself."""

    id: AuthMethodId
    """The agent's id for this way to log in; `authenticate` names it."""
    name: str
    """What the user sees when choosing between the ways to log in."""
    description: str | None = None
    """More about this way to log in, to show beside its name."""
    meta: Meta | None = field(default=None, name="_meta")


class AuthMethodTerminal(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """A way to log in by running the agent's program in a terminal, with more arguments and variables."""

    id: AuthMethodId
    """The agent's id for this way to log in; it is never sent to `authenticate`."""
    name: str
    """What the user sees when choosing between the ways to log in."""
    description: str | None = None
    """More about this way to log in, to show beside its name."""
    args: NullAsEmpty[list[str]] = []
    """The arguments to add to the agent's usual command line, so that it logs in."""
    env: NullAsEmpty[dict[str, str]] = {}
    """The variables to set for the login; they win over those that the agent is usually started with."""
    meta: Meta | None = field(default=None, name="_meta")


class AuthEnvVar(Wire, frozen=True, kw_only=True):
    """A variable that a login needs (legacy)."""

    name: str
    """What the variable is called in the environment, such as `OPENAI_API_KEY`."""
    label: str | None = None
    """What to call the variable when the user is asked for it. Absent means its name."""
    secret: bool = True
    """False if the value may be seen while it is typed. Absent means that it is secret."""
    optional: bool = False
    """True if the login also works without this variable."""
    meta: Meta | None = field(default=None, name="_meta")


class AuthMethodEnvVar(Wire, frozen=True, kw_only=True, tag_field="type", tag="env_var"):
    """A way to log in by starting the agent with variables set (legacy)."""

    id: AuthMethodId
    """The agent's id for this way to log in."""
    name: str
    """What the user sees when choosing between the ways to log in."""
    vars: Lenient[list[AuthEnvVar]]
    """The variables that the client sets when it starts the agent again."""
    description: str | None = None
    """More about this way to log in, to show beside its name."""
    link: str | None = None
    """The address of a page where the user gets the key or token."""
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
    """The way to log in, by its id from the answer to `initialize`."""
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
    """What to call the account when nothing else of it is shown, such as the name of a subscription."""
    active: bool | None = None
    """Whether the agent uses this account now; several may be in use. Absent means that it does not say."""
    name: str | None = None
    """The name of the person, as the account shows it."""
    email: str | None = None
    """The email address of the person."""
    organization: str | None = None
    """The organization, team or workspace that the account is used for."""
    meta: Meta | None = field(default=None, name="_meta")


class AuthStatusRequest(Wire, frozen=True, kw_only=True):
    """Ask whether someone is logged in (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class AuthStatusResponse(Wire, frozen=True, kw_only=True):
    """Whether someone is logged in, and who (unstable)."""

    state: AuthState
    """Whether a session can start without a login. A value that a client does not know means `unknown`."""
    accounts: list[AuthAccount] = []
    """The accounts that the agent can use. They are for display only, never to identify anybody."""
    meta: Meta | None = field(default=None, name="_meta")


class AuthStatusUpdateNotification(Wire, frozen=True, kw_only=True):
    """Logins changed: somebody logged in or out, or a login ran out (unstable)."""

    state: AuthState
    """Whether a session can start without a login. A value that a client does not know means `unknown`."""
    accounts: list[AuthAccount] = []
    """The accounts that the agent can use now. They are for display only."""
    meta: Meta | None = field(default=None, name="_meta")
