"""Which session a command is about: the last one of this repository, one by name, one by id."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..daemon import client as daemon
from ..state import paths
from ..state.agents import agent_command, agent_name, default_agent, keepable, resolve_agent
from ..state.catalogue import Catalogue, SessionEntry, new_key
from ..terminal.output import say

if TYPE_CHECKING:
    from acpella.client.settings import ClientSettings

    from ..options import ConversationOptions

__all__ = [
    "NoAgent",
    "NoSession",
    "check_name",
    "check_no_id",
    "daemon_config",
    "find_settings",
    "idle_seconds",
    "kept_session",
    "matching",
    "named_session",
    "new_entry",
    "resolve",
    "settings_of",
]


class NoSession(ValueError):
    """The command names a session that is not there."""


class NoAgent(ValueError):
    """The command names no agent where it should."""


SHORTEST_START = 4
"""Characters of an id that stand for it, where the session must be there."""

SHORTEST_BESIDE_NAMES = 8
"""The same with `-s`, which begins a session if there is none of that name."""

MAX_NAME = 100
"""Characters of a session's name, so that lists stay lists."""


def find_settings(
    path: str | None,
    cwd: str | os.PathLike[str] = ".",
    *,
    agent: str | None = None,
    yes: bool = False,
) -> "ClientSettings":
    """The settings that were named, or of the project together with those of the user.

    Raises:
        NoAgent: an empty word stands for the agent.
        SettingsError: a file is missing although it was named, or is malformed.
        TransportError: an agent that is known by name is not installed.
    """
    from ..state.settings import find

    if agent is not None and not agent.strip():
        raise NoAgent(
            "the agent is an empty word; is a variable not set? Without --agent it is the default one"
        )
    return resolve_agent(find(path, cwd), agent, yes=yes)


def named_session(
    options: "ConversationOptions", settings: "ClientSettings", catalogue: Catalogue
) -> SessionEntry | None:
    """The session that the command line names, if a background process keeps it or shall keep it.

    Raises:
        NoSession: there is none to go on with, or nothing can be remembered here.
    """
    if options.resume:
        entries = [entry for entry in catalogue.entries() if entry.session_id == options.resume]
        return next((e for e in entries if daemon.status(e.key) is not None), None)
    if options.session is None and not options.last:
        return None
    try:
        return kept_session(
            catalogue,
            settings,
            cwd=options.cwd,
            agent=options.agent,
            name=options.session,
            new=options.new,
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
) -> SessionEntry:
    """The session of that name in this repository, made if there is none; without a name, the last one.

    The id of a session, or the start of it, is as good as a name.

    Raises:
        NoSession: there is none to go on with, or it belongs to another agent.
        OSError: nothing can be remembered.
    """
    root = str(paths.repository(cwd))
    if name is None:
        return _last(catalogue, settings, root, agent)
    check_name(name)
    entry = catalogue.named(root, name)
    if entry is not None and entry.session_id and new:
        daemon.stop(entry.key)
        catalogue.update(entry.key, name="", updated_at=entry.updated_at)
        entry = None
    if entry is None or not entry.session_id:
        entry = _by_id(catalogue, root, name, None if agent is None else (agent, settings), new=new) or entry
    if entry is not None and entry.session_id:
        if agent is not None and not _same_agent(entry, agent, settings):
            raise NoSession(
                f"the session {name!r} of this repository belongs to {entry.agent}; "
                f"--new begins another one under that name"
            )
        return entry
    elsewhere = [other for other in catalogue.entries() if other.name == name and other.root != root]
    if elsewhere and not new:
        say(
            f"{name!r} is a new session: sessions belong to a repository, and this one is {root}. "
            f"To go on with the other {name!r}, add --cwd {shlex.quote(elsewhere[0].root)}"
        )
    return catalogue.add(new_entry(settings, cwd=cwd, agent=agent or default_agent(settings), name=name))


def check_name(name: str) -> None:
    """Raises `NoSession` if a session cannot be called that."""
    if not name.strip() or len(name) > MAX_NAME:
        raise NoSession(f"a session's name has 1 to {MAX_NAME} characters")
    joined = name.translate({0x200C: None, 0x200D: None})  # which some scripts, and emoji, are written with
    if not joined.isprintable():
        raise NoSession(f"a session's name is one line of readable characters, not {name!r}")


def _by_id(
    catalogue: Catalogue, root: str, word: str, whose: "tuple[str, ClientSettings] | None", *, new: bool
) -> SessionEntry | None:
    """The session of this repository with that id, or with an id that begins so."""
    entries = catalogue.entries()
    if new or not any(entry.root == root and entry.session_id == word for entry in entries):
        check_no_id(entries, word, root)
    if new:
        return None
    here = [entry for entry in entries if entry.root == root]
    matches = matching(here, word, names=False, shortest=SHORTEST_BESIDE_NAMES)
    if len(matches) > 1 and whose is not None:  # two agents may have the same id
        matches = [e for e in matches if _same_agent(e, *whose)] or matches
    if len(matches) > 1:
        which = ", ".join(f"{e.session_id} ({e.agent})" for e in matches[:5])
        raise NoSession(f"{word!r} may be any of {which}; write more of the id, or name the --agent")
    return matches[0] if matches else None


def check_no_id(entries: Sequence[SessionEntry], word: str, root: str) -> None:
    """Raises `NoSession` if a name would be the id of a session: nobody could tell them apart."""
    same = next((entry for entry in entries if entry.session_id == word), None)
    if same is None:
        return
    where = "" if same.root == root else f" of {same.root}"
    raise NoSession(f"{word!r} is the id of a session{where} and cannot be a name; choose another one")


def _last(catalogue: Catalogue, settings: "ClientSettings", root: str, agent: str | None) -> SessionEntry:
    for entry in catalogue.entries(root=root):
        if agent is None or _same_agent(entry, agent, settings):
            return entry
    whose = f" with {agent}" if agent else ""
    raise NoSession(f"no session{whose} in {root} yet to go on with; leave out --continue to begin one")


def new_entry(settings: "ClientSettings", *, cwd: str, agent: str, name: str = "") -> SessionEntry:
    """A session that is about to be made."""
    return SessionEntry(
        key=new_key(),
        root=str(paths.repository(cwd)),
        cwd=os.path.abspath(cwd),
        agent=agent_name(agent, settings),
        target=keepable(agent, settings),
        settings=str(settings.origin(agent) or ""),
        where=os.getcwd(),
        name=name,
    )


def _same_agent(entry: SessionEntry, agent: str, settings: "ClientSettings") -> bool:
    if entry.target and entry.target == keepable(agent, settings):
        return True
    return agent == entry.agent or (not entry.target and agent_name(agent, settings) == entry.agent)


def daemon_config(
    entry: SessionEntry,
    settings: "ClientSettings",
    *,
    agent: str | None = None,
    mcp_servers: Sequence[Any] = (),
) -> daemon.Config:
    """What the daemon of a session must know.

    Raises:
        NoSession: the agent's command was not kept, and is not named now.
    """
    target: str | list[str] = agent if agent and not entry.target else entry.target
    if not target and daemon.status(entry.key) is None:
        raise NoSession(
            f"the command of {entry.agent} held secrets, which are not kept; name it again with --agent"
        )
    entry_settings = settings_of(entry, settings)
    command, env = agent_command(target, entry_settings) if target else ([], {})
    server = entry_settings.agents.get(target) if isinstance(target, str) else None
    return daemon.Config(
        key=entry.key,
        agent=entry.agent,
        target=target,
        command=command,
        env=env,
        url=server.url if server is not None else "",
        headers=server.headers if server is not None else {},
        of_project=server is not None and server.of_project,
        cwd=entry.cwd,
        where=entry.where or entry.cwd,
        session_id=entry.session_id,
        mcp_servers=[msgspec.to_builtins(server) for server in mcp_servers],
        idle=idle_seconds(settings),
    )


def settings_of(entry: SessionEntry, settings: "ClientSettings") -> "ClientSettings":
    """The settings that name the session's agent.

    Raises:
        NoSession: they are gone, or do not name it any more.
    """
    from acpella.client.settings import ClientSettings
    from acpella.client.settings_source import UntrustedSettings
    from acpella.client.trust import is_project, read_trusted

    target = entry.target if isinstance(entry.target, str) else ""
    if not entry.settings:
        return resolve_agent(ClientSettings(), target)
    path = Path(entry.settings)
    if settings.origin(target) == path:
        return settings
    whose = f"the agent {entry.agent!r} of this session"
    if not path.is_file():
        raise NoSession(f"{path}, which names {whose}, is gone; bring it back, or begin another session")
    try:
        file_settings = (
            ClientSettings.parse(read_trusted(path), path) if is_project(path) else ClientSettings.load(path)
        )
    except UntrustedSettings as error:
        raise NoSession(str(error)) from None
    if target not in file_settings.agents:
        raise NoSession(f"{path} does not name {whose} any more; add it again, or begin another session")
    return file_settings


def idle_seconds(settings: "ClientSettings") -> float:
    """`ACPELLA_DAEMON_IDLE`, or `daemon_idle` of the settings, or the default. Their old names count, too."""
    where, value = "", None
    for variable in ("ACPELLA_DAEMON_IDLE", "ACPELLA_OWNER_IDLE"):
        if os.environ.get(variable):
            where, value = variable, os.environ[variable]
            break
    else:
        where, value = _idle_setting(settings)
    if value in (None, ""):
        return daemon.IDLE
    try:
        seconds = float(value)
        if isinstance(value, bool) or not 0 <= seconds < float("inf"):
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(f"{where} must be a number of seconds, not {value!r}") from None
    return seconds


def _idle_setting(settings: "ClientSettings") -> tuple[str, Any]:
    """Where the settings name the idle time, and what stands there."""
    from ..state.settings_file import SettingsFile

    for path in getattr(settings, "files", ()):
        table = SettingsFile(path).read()
        for key in ("daemon_idle", "owner_idle"):
            if table.get(key) not in (None, ""):
                return f"{path}: {key}", table[key]
    return "", None


def resolve(catalogue: Catalogue, word: str | None, *, cwd: str) -> SessionEntry | None:
    """The session that a word means here, or else anywhere by its id; without a word, the last one here.

    Raises:
        NoSession: several begin like that.
    """
    root = str(paths.repository(cwd))
    here = catalogue.entries(root=root)
    if word is None:
        return here[0] if here else None
    matches = matching(here, word) or matching(catalogue.entries(), word, names=False)
    if len({entry.session_id for entry in matches}) > 1:
        ids = ", ".join(entry.session_id for entry in matches[:5])
        raise NoSession(f"{word!r} may be any of {ids}")
    return matches[0] if matches else None


def matching(
    entries: Sequence[SessionEntry], word: str, *, names: bool = True, shortest: int = SHORTEST_START
) -> list[SessionEntry]:
    """The sessions that a word means: those of that name, or else of that id, or whose ids begin so.

    `shortest` is how many characters of an id stand for it.
    """
    by_name = [entry for entry in entries if names and entry.name == word]
    same = [entry for entry in entries if entry.session_id == word]
    begins = [entry for entry in entries if len(word) >= shortest and entry.session_id.startswith(word)]
    return by_name or same or begins
