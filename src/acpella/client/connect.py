"""`connect`: the way to an agent, whatever it is: a command, a file, a name, a URL."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from acpella.errors import TransportError
from acpella.rpc import Noise
from acpella.schema import Implementation

from .agent import ConnectedAgent
from .agent_core import ConnectedAgentCore
from .elicitation import Elicit, Elicitations
from .permissions import Permissions, Policy
from .services import Services
from .settings import ClientSettings
from .settings_source import UntrustedSettings
from .targets import Target, find_endpoint, identity_of, is_name
from .timeouts import Timeouts
from .workspace import Terminals, Workspace

if TYPE_CHECKING:
    from .remote import RemoteAgent
    from .restarts import Restarts

__all__ = ["AskOptions", "ConnectOptions", "connect"]


class AskOptions(TypedDict, total=False):
    """The options of `connect` but for `cwd`, for functions that pass them on."""

    files: Workspace | bool
    terminals: Terminals | bool
    permissions: Permissions | Policy
    on_elicit: Elicit | None
    on_elicit_complete: Callable[[str], None] | None
    timeouts: Timeouts
    settings: ClientSettings | str | os.PathLike[str] | None
    env: Mapping[str, str] | None
    on_stderr: Callable[[bytes], None] | None
    on_noise: Callable[[Noise], None] | None
    requests: Mapping[str, Any] | None
    notifications: Mapping[str, Any] | None
    record: str | os.PathLike[str] | None
    name: str
    headers: Mapping[str, str] | None
    token: str | None
    reconnect: "Restarts | bool"
    on_state: "Callable[[RemoteAgent], None] | None"
    remembered_as: "str | Callable[[ConnectedAgent], str] | None"


class ConnectOptions(AskOptions, total=False):
    """The options of `connect`, for functions that pass them on."""

    cwd: str | os.PathLike[str] | None


def connect(
    target: Target,
    *,
    files: Workspace | bool = True,
    terminals: Terminals | bool = False,
    permissions: Permissions | Policy = "allow-reads",
    on_elicit: Elicit | None = None,
    on_elicit_complete: Callable[[str], None] | None = None,
    timeouts: Timeouts = Timeouts(),
    settings: ClientSettings | str | os.PathLike[str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    on_stderr: Callable[[bytes], None] | None = None,
    on_noise: Callable[[Noise], None] | None = None,
    requests: Mapping[str, Any] | None = None,
    notifications: Mapping[str, Any] | None = None,
    record: str | os.PathLike[str] | None = None,
    name: str = "acpella",
    headers: Mapping[str, str] | None = None,
    token: str | None = None,
    reconnect: "Restarts | bool" = True,
    on_state: "Callable[[RemoteAgent], None] | None" = None,
    remembered_as: "str | Callable[[ConnectedAgent], str] | None" = None,
) -> ConnectedAgent:
    """Start an agent and greet it: `async with acpella.connect("agent.py") as agent:`.

    `target` is a command, a list, a Python file, a URL (http, https, ws, wss), a name of the settings, the
    name of an agent that `acpella registry install` has installed, such as "codex", or an `Agent`.

    `files` lets the agent read inside the session's directories (`Workspace(write=True)`: also write);
    `terminals` lets it run commands there. `permissions` answers its questions: a policy, or `Permissions`
    with rules and somebody to ask. `on_elicit` shows its forms and pages to the user, and
    `on_elicit_complete` hears of those that were finished. `requests` and `notifications` are extension
    methods that the agent may call. `record` names a file that gets every frame both ways, without secrets.
    `remembered_as` names the agent for remembered answers when `target` is a channel. Other agents are
    known by their name in the settings, or by their path, command or URL.

    For an agent behind a URL: `headers` and `token` (default: `ACPELLA_TOKEN` of the environment) go with
    every request; `reconnect` says how often a lost connection is made again, `on_state` hears of it.

    Raises:
        TypeError, ValueError: an option is wrong; says what it can be.
        TransportError: an agent that acpella knows by name is not installed; says how to start it.
        UntrustedSettings: a name may be one of `./.acpella/settings.json`, to which the user has not agreed,
            or `settings` names such a file.

    Raises, when it is entered:
        TransportError: the agent cannot be started, or does not answer.
        ConnectionClosed: it died; with its exit code and the last lines of its stderr.
    """
    from acpella._version import __version__

    _check_options(files, terminals, permissions, timeouts, reconnect)
    if not isinstance(settings, ClientSettings):
        settings = _find_settings(target, settings)
    if isinstance(target, str) and is_name(target):
        from .names import with_known  # most targets are commands and files

        settings = with_known(settings, target)
    remote = find_endpoint(target, settings=settings, headers=headers, token=token)
    if remote is None and (headers or token is not None):
        raise TransportError("headers= and token= make sense only for an agent behind a URL")
    services = Services(
        files=(Workspace() if files else None) if isinstance(files, bool) else files,
        terminals=(Terminals() if terminals else None) if isinstance(terminals, bool) else terminals,
        permissions=Permissions(permissions) if isinstance(permissions, str) else permissions,
        elicitations=None if on_elicit is None else Elicitations(on_elicit, on_elicit_complete),
    )
    options: dict[str, Any] = {
        "services": services,
        "timeouts": timeouts,
        "settings": settings,
        "cwd": cwd,
        "env": env,
        "on_stderr": on_stderr,
        "on_noise": on_noise,
        "requests": requests,
        "notifications": notifications,
        "record": record,
        "info": Implementation(name=name, version=__version__),
        "identity": identity_of(target, settings, cwd=cwd),
    }
    if remote is None:
        return ConnectedAgent(ConnectedAgentCore(target, **options), remembered_as=remembered_as)
    from .remote import RECONNECT, RemoteAgent, RemoteAgentCore

    limits = (RECONNECT if reconnect else None) if isinstance(reconnect, bool) else reconnect
    core = RemoteAgentCore(*remote, reconnect=limits, **options)
    return RemoteAgent(core, on_state=on_state, remembered_as=remembered_as)


def _find_settings(target: Target, path: str | os.PathLike[str] | None) -> ClientSettings:
    try:
        return ClientSettings.find(path)
    except UntrustedSettings:
        if path is not None or (isinstance(target, str) and is_name(target)):
            raise
        return ClientSettings.of_user()  # the target needs no settings: those of the project are not read


def _check_options(
    files: object, terminals: object, permissions: object, timeouts: object, reconnect: object
) -> None:
    from .restarts import Restarts

    for name, value, kind, instead in (
        ("files", files, Workspace, "True, False or Workspace(write=True)"),
        ("terminals", terminals, Terminals, "True, False or Terminals(timeout=600)"),
        ("reconnect", reconnect, Restarts, "True, False or Restarts(budget=10)"),
    ):
        if not isinstance(value, bool | kind):
            raise TypeError(f"{name}= is {instead}, not {value!r}")
    if not isinstance(permissions, str | Permissions):
        raise TypeError(f"permissions= is a policy such as 'ask', or Permissions(...), not {permissions!r}")
    if not isinstance(timeouts, Timeouts):
        raise TypeError(f"timeouts= is Timeouts(request={timeouts!r}) or the like, not {timeouts!r}")
