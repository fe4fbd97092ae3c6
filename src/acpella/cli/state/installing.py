"""Installing an agent of the registry: what would be run is shown whole, and asked once."""

import shlex
import sys
from typing import TYPE_CHECKING

from acpella.client.installed import Installed, find_installed
from acpella.client.known_agents import find_known
from acpella.client.names import registry_id
from acpella.errors import TransportError

from ..terminal.confirming import can_ask, confirm
from ..terminal.output import say
from ..terminal.progress import ShownProgress
from ..terminal.reveal import reveal

if TYPE_CHECKING:
    from acpella.client.settings import AgentServer
    from acpella.registry.entries import RegistryEntry
    from acpella.registry.install import InstallPlan

__all__ = ["find_entry", "install_entry", "offer_install", "plan_rows"]


def plan_rows(planned: "InstallPlan", used: Installed | None = None) -> list[str]:
    """What would be installed, whose it is, from where, with which digest, and how it would be started.

    `used` is what it would replace.
    """
    from acpella.registry.specs import origin

    entry = planned.entry
    before = origin(used.receipt.kind, used.receipt.source) if used is not None else ""
    is_same = used is None or before == origin(planned.kind, planned.source)
    how = {"binary": "an archive", "npx": "the npm package", "uvx": "the PyPI package"}[planned.kind]
    facts = [
        ("agent", f"{entry.name} {planned.version} ({entry.id})"),
        ("about", entry.description),
        ("by", ", ".join(entry.authors) or "nobody is named"),
        ("licence", entry.license or "none is named"),
        ("home", entry.repository or entry.website),
        ("from", f"{how} {planned.source}"),
        *(("", line) for line in planned.details),
        ("changed", "" if is_same else f"until now it was {before}"),
        ("digest", planned.digest),
        ("args", shlex.join(planned.args)),
        *(("env", shlex.quote(f"{name}={value}")) for name, value in planned.env.items()),
        ("index", planned.index_url),
        *(("scripts", f"{name} has install scripts, which are not run") for name in planned.scripts),
        *(("note", line) for line in planned.warnings),
    ]
    return [f"  {label:<8} {text}" for label, text in facts if text]


def install_entry(
    entry: "RegistryEntry",
    *,
    index_url: str,
    prefer: str = "",
    version: str = "",
    yes: bool = False,
    scripts: bool = False,
    check: bool = True,
    quiet: bool = False,
    agree_with: str = "",
) -> Installed | None:
    """Plan, show, ask, install; None if the answer was no. What is in use already is not asked about.

    `agree_with` is the command that would say yes.

    Raises:
        InstallError: it cannot be installed; what was there before is unchanged.
        TransportError: nobody can be asked.
    """
    from acpella.registry.install import install, plan

    if not yes and not can_ask():
        raise TransportError(
            f"{entry.name} would be installed and started here, and nobody can be asked; "
            f"agree with `{agree_with or f'acpella registry install {entry.id} --yes'}`"
        )

    def retry(reason: str) -> bool:
        progress.pause()
        say(f"{entry.name} does not work without its install scripts: {reason}")
        return not yes and can_ask() and confirm(f"run the install scripts of {', '.join(planned.scripts)}?")

    def allow_build(reason: str) -> bool:
        if yes:  # that agrees to what would be installed, and --scripts to this
            return scripts
        progress.pause()
        say(f"{reason}, before it can be shown what would be installed; the index is {index_url}")
        return confirm(f"run that code on this machine, to go on with {entry.id}?")

    with (
        ShownProgress(quiet=quiet) as progress,
        plan(
            entry,
            index_url=index_url,
            prefer=prefer,
            version=version,
            progress=progress,
            allow_build=allow_build,
        ) as planned,
    ):
        progress.pause()
        used = find_installed(entry.id)
        if (
            used is not None
            and used.directory.name == planned.directory
            and used.selection.pin == planned.pin
        ):
            if not (scripts and planned.scripts and not used.receipt.scripts):
                return used
        if not quiet or not yes:
            for row in plan_rows(planned, used):
                print(reveal(row), file=sys.stderr)  # noqa: T201 - beside the output
        if not yes and not confirm(f"install {entry.name}, and run it on this machine?"):
            return None
        return install(planned, progress=progress, scripts=scripts, check=check, retry_with_scripts=retry)


def find_entry(name: str, url: str, *, refresh: bool = False, offline: bool = False) -> "RegistryEntry":
    """The entry of an id or a short name.

    Raises:
        RegistryError: the index cannot be had, or does not list it; says what it lists.
    """
    from acpella.registry.errors import RegistryError
    from acpella.registry.index import find_index

    source = find_index(url, refresh=refresh, offline=offline)
    if source.problem:
        say(f"{source.problem}; the copy of earlier is used")
    agent_id = registry_id(name)
    entry = source.index.entries.get(agent_id)
    if entry is not None:
        return entry
    from difflib import get_close_matches

    why = next((warning for warning in source.index.warnings if warning.startswith(f"{agent_id} ")), "")
    close = get_close_matches(name, source.index.entries, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "`acpella registry list` shows what it has"
    raise RegistryError(f"the registry lists no agent {name!r}; {why or hint}")


def offer_install(name: str, *, yes: bool = False) -> "AgentServer | None":
    """Install an agent that somebody named and that is not there, after one question.

    None if the registry does not have it, so that it may be a command.

    Raises:
        TransportError: it is known and was not installed; says how to do that.
    """
    from shutil import which

    from acpella.registry.errors import RegistryError
    from acpella.registry.index import find_index, index_url
    from acpella.registry.settings import registry_settings

    agent = find_known(name)
    if agent is None and which(name) is not None:
        return None
    settings = registry_settings()
    url = index_url(None, settings)
    may_ask = yes or can_ask()
    entry = problem = None
    try:
        # if nobody can be asked, the network is not used just to word an error
        entry = find_index(url, offline=not may_ask).index.entries.get(registry_id(name))
    except RegistryError as error:
        problem = error
    if entry is None and agent is None:
        if yes and problem is not None:  # perhaps it is one of the registry's; nobody can say
            raise TransportError(f"{name} is not installed, and the registry cannot be asked: {problem}")
        return None
    title = entry.name if entry is not None else agent.title if agent is not None else name
    if not may_ask:
        needs = f": there is no {agent.program} on the PATH" if agent is not None else ""
        raise TransportError(
            f"{title} is not installed{needs}. `acpella registry install {name}` installs it, after showing "
            "what that is; --yes agrees to it here"
        )
    if entry is None and agent is not None:
        from acpella.registry.known import entry_of

        entry = entry_of(agent)
        if entry is None:
            raise TransportError(
                f"{title} is not installed: there is no {agent.program} on the PATH, and "
                f"{problem or 'the registry does not list it'}"
            )
        say(f"{problem or 'the registry does not list it'}; its newest package is taken instead")
    assert entry is not None
    say(f"{title} is not installed")
    installed = install_entry(
        entry, index_url=url, prefer=settings.prefer, version=settings.pins.get(entry.id, ""), yes=yes
    )
    if installed is None:
        raise TransportError(f"{title} was not installed")
    say(f"installed {installed.receipt.id} {installed.receipt.version}")
    return installed.server
