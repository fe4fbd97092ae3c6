"""`install`, `update`, `remove`: which agents are on this machine."""

import argparse
from typing import Any

from acpella.client.installed import Installed, find_installed, list_installed
from acpella.client.names import registry_id
from acpella.errors import AcpellaError
from acpella.registry.errors import InstallError
from acpella.registry.index import find_index, index_url
from acpella.registry.settings import registry_settings

from ... import exits
from ...failures import report
from ...state.installing import find_entry, install_entry
from ...terminal.output import say, show_json
from ...terminal.progress import ShownProgress

__all__ = ["install_agents", "remove_agents", "update_agents"]


def install_agents(arguments: argparse.Namespace) -> int:
    """`acpella registry install ID ...`: one question for each."""
    settings = registry_settings()
    url = index_url(arguments.registry, settings)
    code, done = exits.DONE, list[dict[str, Any]]()
    for name in arguments.agents:
        try:
            entry = find_entry(name, url, refresh=arguments.refresh, offline=arguments.offline)
            installed = install_entry(
                entry,
                index_url=url,
                prefer=arguments.prefer or settings.prefer,
                version=arguments.version or settings.pins.get(entry.id, ""),
                yes=arguments.yes,
                scripts=arguments.scripts,
                check=not arguments.no_check,
                quiet=arguments.json,
            )
        except (AcpellaError, OSError) as error:
            code = report(error, doctor=False)
            continue
        if installed is None:
            say(f"{entry.name} was not installed")
            code = exits.USAGE
            continue
        done.append(_result(installed))
        if not arguments.json:
            receipt = installed.receipt
            say(f'{receipt.id} {receipt.version} is installed; try `acpella run -a {name} "hello"`')
    if arguments.json:
        show_json({"installed": done})
    return code


def _result(installed: Installed) -> dict[str, Any]:
    receipt = installed.receipt
    return {
        "id": receipt.id,
        "version": receipt.version,
        "kind": receipt.kind,
        "source": receipt.source,
        "digest": receipt.digest,
        "directory": str(installed.directory),
    }


def update_agents(arguments: argparse.Namespace) -> int:
    """`acpella registry update ID ...|--all`."""
    if not arguments.agents and not arguments.all:
        raise ValueError("say which agents, or --all")
    if arguments.rollback:
        return _roll_back(arguments)
    chosen = [_installed(name) for name in arguments.agents] or list_installed()
    code, done = exits.DONE, list[dict[str, Any]]()
    for installed in chosen:
        try:
            new = _update(installed, arguments)
        except (AcpellaError, OSError) as error:
            code = report(error, doctor=False)
            continue
        if new is not None:
            done.append({**_result(new), "before": installed.receipt.version})
            say(f"{new.receipt.id} is {new.receipt.version} now; it was {installed.receipt.version}")
    if arguments.json:
        show_json({"updated": done})
    return code


def _installed(name: str) -> Installed:
    installed = find_installed(registry_id(name))
    if installed is None:
        raise InstallError(f"{name} is not installed; `acpella registry list --installed` shows what is")
    return installed


def _update(installed: Installed, arguments: argparse.Namespace) -> Installed | None:
    """The new version; None if there is none, or the answer was no."""
    receipt, selection = installed.receipt, installed.selection
    settings = registry_settings()
    pin = settings.pins.get(receipt.id, "") or ("" if arguments.unpin else selection.pin)
    # An agent is updated from the index that it came from: another one may mean another program by the id.
    url = index_url(arguments.registry, settings) if arguments.registry else receipt.index_url
    source = find_index(url, refresh=arguments.refresh, offline=arguments.offline)
    if source.problem:
        say(f"{source.problem}; the copy of earlier is used")
    entry = source.index.entries.get(receipt.id)
    if entry is None:
        say(f"{receipt.id} is no longer listed; {receipt.version} stays")
        return None
    if pin and pin == receipt.version:
        say(f"{receipt.id} is kept at {pin}")
        return None
    if not pin and entry.version == receipt.version:
        say(f"{receipt.id} {receipt.version} is the newest")
        return None
    same_kind = receipt.kind in entry.kinds
    if not same_kind:
        say(f"{receipt.id} is distributed in another way now, as {', '.join(entry.kinds)}")
    elif not pin:
        say(f"{receipt.id}: {receipt.version} → {entry.version}")
    new = install_entry(
        entry,
        index_url=url,
        prefer=receipt.kind if same_kind else settings.prefer,
        version=pin,
        yes=arguments.yes,
        scripts=arguments.scripts or (receipt.scripts and same_kind),
        check=not arguments.no_check,
        quiet=arguments.json,
        agree_with=f"acpella registry update {receipt.id} --yes",
    )
    if new is not None and new.directory == installed.directory:
        say(f"{receipt.id} {receipt.version} is the newest that can be had")
        return None
    return new


def _roll_back(arguments: argparse.Namespace) -> int:
    from acpella.registry.install import roll_back

    if not arguments.agents:
        raise ValueError("say which agents are to go back")
    for name in arguments.agents:
        installed = roll_back(registry_id(name))
        say(f"{installed.receipt.id} is {installed.receipt.version} again")
    return exits.DONE


def remove_agents(arguments: argparse.Namespace) -> int:
    """`acpella registry remove ID ...`."""
    from acpella.registry.install import remove

    for name in arguments.agents:
        agent_id = registry_id(name)
        if arguments.logout and find_installed(agent_id) is not None:
            from .using import log_out

            code = log_out(agent_id)
            if code != exits.DONE:
                return code
        with ShownProgress() as progress:
            remove(agent_id, progress=progress)
        say(f"removed {agent_id}; its own settings are where they were")
    return exits.DONE
