"""Which session a command is about: the last one of this repository, one by name, one by id."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from . import owners, places
from .agents_known import agent_name, command_of, default_agent, keepable, with_builtin
from .catalogue import Catalogue, Entry, new_key

if TYPE_CHECKING:
    from acpella.client.settings import ClientSettings

__all__ = [
    "NoSession",
    "find_settings",
    "idle_seconds",
    "kept_session",
    "named_session",
    "new_entry",
    "owner_config",
    "resolve",
    "settings_of",
]


class NoSession(ValueError):
    """The command names a session that is not there."""


def find_settings(
    path: str | None, cwd: str | os.PathLike[str] = ".", *, agent: str | None = None
) -> "ClientSettings":
    """The settings that were named, of this directory, of its repository, or of the user."""
    from acpella.client.settings import ClientSettings

    if path is None:
        for place in (Path(cwd), places.repository(cwd)):
            candidate = place / ".acpella" / "settings.json"
            if candidate.is_file():
                return with_builtin(ClientSettings.load(candidate.absolute()), agent)
    return with_builtin(ClientSettings.find(path), agent)


def named_session(
    arguments: argparse.Namespace, settings: "ClientSettings", catalogue: Catalogue
) -> Entry | None:
    """The session that the command line names, if an owner process keeps it or shall keep it.

    Raises:
        NoSession: there is none to go on with, or nothing can be remembered here.
    """
    if arguments.resume:
        known = [entry for entry in catalogue.entries() if entry.session_id == arguments.resume]
        return next((e for e in known if owners.ask(e.key, "_owner/status") is not None), None)
    if arguments.session is None and not arguments.last:
        return None
    try:
        return kept_session(
            catalogue,
            settings,
            cwd=arguments.cwd,
            agent=arguments.agent,
            name=arguments.session,
            new=arguments.new,
        )
    except OSError as error:
        raise NoSession(f"sessions cannot be remembered: {error}; set XDG_STATE_HOME") from None


def kept_session(
    catalogue: Catalogue,
    settings: "ClientSettings",
    *,
    cwd: str,
    agent: str | None,
    name: str | None,
    new: bool = False,
) -> Entry:
    """The session of that name in this repository, made if there is none; without a name, the last one.

    Raises:
        NoSession: there is none to go on with, or it belongs to another agent.
        OSError: nothing can be remembered.
    """
    root = str(places.repository(cwd))
    if name is None:
        return _last(catalogue, settings, root, agent)
    if not name.strip() or len(name) > 100:
        raise NoSession("a session's name has 1 to 100 characters")
    entry = catalogue.named(root, name)
    if entry is not None and entry.session_id and new:
        owners.stop(entry.key)
        catalogue.update(entry.key, name="", updated_at=entry.updated_at)
        entry = None
    if entry is not None and entry.session_id:
        if agent is not None and not _same_agent(entry, agent, settings):
            raise NoSession(
                f"the session {name!r} of this repository belongs to {entry.agent}; "
                f"--new begins another one under that name"
            )
        return entry
    return catalogue.add(new_entry(settings, cwd=cwd, agent=agent or default_agent(settings), name=name))


def _last(catalogue: Catalogue, settings: "ClientSettings", root: str, agent: str | None) -> Entry:
    for entry in catalogue.entries(root=root):
        if agent is None or _same_agent(entry, agent, settings):
            return entry
    whose = f" with {agent}" if agent else ""
    raise NoSession(f"no session{whose} in {root} yet to go on with; leave out --continue to begin one")


def new_entry(settings: "ClientSettings", *, cwd: str, agent: str, name: str = "") -> Entry:
    """A session that is about to be made."""
    known = agent in settings.agents
    return Entry(
        key=new_key(),
        root=str(places.repository(cwd)),
        cwd=os.path.abspath(cwd),
        agent=agent_name(agent, settings),
        target=keepable(agent, settings),
        settings=str(settings.path.absolute()) if known and settings.path is not None else "",
        where=os.getcwd(),
        name=name,
    )


def _same_agent(entry: Entry, agent: str, settings: "ClientSettings") -> bool:
    if entry.target and entry.target == keepable(agent, settings):
        return True
    return agent == entry.agent or (not entry.target and agent_name(agent, settings) == entry.agent)


def owner_config(
    entry: Entry, settings: "ClientSettings", *, agent: str | None = None, mcp_servers: Sequence[Any] = ()
) -> owners.Config:
    """What the owner of a session must know.

    Raises:
        NoSession: the agent's command was not kept, and is not named now.
    """
    target: str | list[str] = agent if agent and not entry.target else entry.target
    if not target and owners.ask(entry.key, "_owner/status") is None:
        raise NoSession(
            f"the command of {entry.agent} held secrets, which are not kept; name it again with --agent"
        )
    known = settings_of(entry, settings)
    command, env = command_of(target, known) if target else ([], {})
    server = known.agents.get(target) if isinstance(target, str) else None
    return owners.Config(
        key=entry.key,
        agent=entry.agent,
        target=target,
        command=command,
        env=env,
        url=server.url if server is not None else "",
        headers=server.headers if server is not None else {},
        cwd=entry.cwd,
        where=entry.where or entry.cwd,
        session_id=entry.session_id,
        mcp_servers=[msgspec.to_builtins(server) for server in mcp_servers],
        idle=idle_seconds(settings),
    )


def settings_of(entry: Entry, settings: "ClientSettings") -> "ClientSettings":
    """The settings that name the session's agent."""
    from acpella.client.settings import ClientSettings

    if settings.path is not None and str(settings.path.absolute()) == entry.settings:
        return settings
    found = ClientSettings.load(Path(entry.settings)) if entry.settings else ClientSettings()
    return with_builtin(found, entry.target)


def idle_seconds(settings: "ClientSettings") -> float:
    """`ACPELLA_OWNER_IDLE`, or `owner_idle` of the settings, or the default."""
    value: Any = os.environ.get("ACPELLA_OWNER_IDLE")
    where = "ACPELLA_OWNER_IDLE"
    if not value and settings.path is not None:
        from .settings_file import SettingsFile

        where = f"{settings.path}: owner_idle"
        value = SettingsFile(settings.path).read().get("owner_idle")
    if value in (None, ""):
        return owners.IDLE
    try:
        seconds = float(value)
        if isinstance(value, bool) or not 0 <= seconds < float("inf"):
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(f"{where} must be a number of seconds, not {value!r}") from None
    return seconds


def resolve(
    catalogue: Catalogue, reference: str | None, *, cwd: str, everywhere: bool = False
) -> Entry | None:
    """A session by its name, its id or the start of one; without a reference, the last of this repository."""
    root = str(places.repository(cwd))
    here = catalogue.entries(root=root)
    if reference is None:
        return here[0] if here else None
    for entries in (here, catalogue.entries()):
        for matches in (
            [e for e in entries if e.name == reference and (everywhere or e.root == root)],
            [e for e in entries if e.session_id == reference],
            [e for e in entries if len(reference) >= 4 and e.session_id.startswith(reference)],
        ):
            if len(matches) > 1 and len({e.session_id for e in matches}) > 1:
                ids = ", ".join(e.session_id for e in matches[:5])
                raise NoSession(f"{reference!r} may be any of {ids}")
            if matches:
                return matches[0]
    return None
