"""`list`, `search`, `show`: what the registry has, and what of it is installed."""

import argparse
import shlex
import shutil
import sys
from typing import TYPE_CHECKING, Any

from acpella.client.installed import Installed, list_installed
from acpella.client.names import registry_id
from acpella.registry.errors import InstallError
from acpella.registry.index import FoundIndex, find_index, index_url
from acpella.registry.platforms import choose_kind, platform_key
from acpella.registry.settings import registry_settings

from ... import exits
from ...terminal.output import one_line, say, show, show_json
from ...terminal.rows import cell_len, crop, has_colour, is_smart, paint

if TYPE_CHECKING:
    from acpella.registry.entries import RegistryEntry

__all__ = ["list_agents", "search", "show_agent"]


def list_agents(arguments: argparse.Namespace) -> int:
    """`acpella registry list`."""
    return _list(arguments, arguments.search, only_installed=arguments.installed)


def search(arguments: argparse.Namespace) -> int:
    """`acpella registry search`."""
    return _list(arguments, " ".join(arguments.words), only_installed=False)


def _find(arguments: argparse.Namespace) -> FoundIndex:
    url = index_url(arguments.registry, registry_settings())
    source = find_index(url, refresh=arguments.refresh, offline=arguments.offline)
    for warning in source.index.warnings:
        say(f"in the index, {warning}")
    if source.problem:
        say(f"{source.problem}; this is the copy of {_age(source.age)} ago")
    elif arguments.offline and source.age:
        say(f"this is the copy of {_age(source.age)} ago")
    return source


def _age(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def _list(arguments: argparse.Namespace, words: str, *, only_installed: bool) -> int:
    source = _find(arguments)
    installed = {one.receipt.id: one for one in list_installed()}
    entries = {entry.id: entry for entry in source.index.search(words)}
    unlisted = [one for one in installed.values() if one.receipt.id not in source.index.entries]
    if only_installed:
        entries = {name: entry for name, entry in entries.items() if name in installed}
    if words:
        unlisted = [one for one in unlisted if all(w in one.receipt.id for w in words.lower().split())]
    if arguments.json:
        agents: list[dict[str, Any]] = [
            {**_facts(entry), "installed": _installation(installed.get(entry.id))}
            for entry in entries.values()
        ]
        agents += [
            {"id": one.receipt.id, "name": one.receipt.name, "listed": False, "installed": _installation(one)}
            for one in unlisted
        ]
        show_json({"index": source.url, "age": round(source.age), "agents": agents})
        return exits.DONE
    rows = [_row(entry, installed.get(entry.id)) for entry in entries.values()]
    rows += [
        ("✓", one.receipt.id, one.receipt.version, one.receipt.kind, "no longer listed") for one in unlisted
    ]
    if not rows:
        say("no agent is installed" if only_installed else f"the registry has no agent with {words!r}")
        return exits.DONE
    _table(("", "id", "version", "as", "agent"), rows)
    return exits.DONE


def _row(entry: "RegistryEntry", installed: Installed | None) -> tuple[str, str, str, str, str]:
    version, mark = entry.version, " "
    if installed is not None:
        mark = "✓"
        if installed.receipt.version != entry.version:
            mark = "↑" if not installed.selection.pin else "="
            version = f"{installed.receipt.version} → {entry.version}"
    about = f"{entry.name}: {entry.description}"
    try:
        kind = installed.receipt.kind if installed is not None else choose_kind(entry)
    except InstallError:  # not on this machine
        kind = "-"
    return mark, entry.id, version, kind, about


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Columns; on a terminal with a head, colours, and cut to its width."""
    cells = [tuple(one_line(cell) for cell in row) for row in rows]
    if not is_smart(sys.stdout):
        for row in _aligned(cells):
            show("  ".join(row).rstrip())
        return
    width = shutil.get_terminal_size().columns
    aligned = _aligned([head, *cells])
    for number, row in enumerate(aligned):
        styles = ("green", "bold" if number else "bold dim", "", "dim", "dim" if not number else "")
        line = [(cell + "  ", style) for cell, style in zip(row, styles, strict=True)]
        print(paint(line, width, colour=has_colour()).rstrip())  # noqa: T201 - the output, cleaned by one_line
    say("✓ installed   ↑ `acpella registry update` has a newer version   = kept at its version")


def _aligned(rows: list[tuple[str, ...]]) -> list[list[str]]:
    widths = [max(cell_len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    return [
        [*(crop(cell, w) + " " * (w - cell_len(cell)) for cell, w in zip(row, widths, strict=False)), row[-1]]
        for row in rows
    ]


def _facts(entry: "RegistryEntry") -> dict[str, Any]:
    return {**entry.raw, "listed": True}


def _installation(installed: Installed | None) -> dict[str, Any] | None:
    if installed is None:
        return None
    receipt = installed.receipt
    return {
        "version": receipt.version,
        "kind": receipt.kind,
        "source": receipt.source,
        "digest": receipt.digest,
        "installedAt": receipt.installed_at,
        "indexUrl": receipt.index_url,
        "directory": str(installed.directory),
        "pin": installed.selection.pin or None,
        "previous": installed.selection.previous or None,
    }


def show_agent(arguments: argparse.Namespace) -> int:
    """`acpella registry show ID`."""
    source = _find(arguments)
    agent_id = registry_id(arguments.agent)
    installed = next((one for one in list_installed() if one.receipt.id == agent_id), None)
    entry = source.index.entries.get(agent_id)
    if entry is None and installed is None:
        from ...state.installing import find_entry

        find_entry(arguments.agent, source.url, offline=True)  # says what there is
    if arguments.json:
        facts = {"id": agent_id, "listed": False} if entry is None else _facts(entry)
        show_json({**facts, "installed": _installation(installed)})
        return exits.DONE
    rows = [] if entry is None else _entry_rows(entry)
    if entry is None:
        rows.append(("id", f"{agent_id}, which the registry no longer lists"))
    rows += _installed_rows(installed)
    for label, text in rows:
        if text:
            show(f"{label:<10} {one_line(text, 2000)}")
    return exits.DONE


def _entry_rows(entry: "RegistryEntry") -> list[tuple[str, str]]:
    rows = [
        ("agent", f"{entry.name} {entry.version} ({entry.id})"),
        ("about", entry.description),
        ("by", ", ".join(entry.authors)),
        ("licence", entry.license),
        ("home", entry.repository or entry.website),
    ]
    for kind in ("npx", "uvx"):
        package = getattr(entry, kind)
        if package is not None:
            rows.append((kind, shlex.join([package.package, *package.args])))
    if entry.binary:
        rows.append(("binary", ", ".join(entry.binary)))
        target = entry.binary.get(platform_key())
        if target is not None:
            rows += [("", target.archive), ("", f"sha256:{target.sha256}" if target.sha256 else "no digest")]
    return rows


def _installed_rows(installed: Installed | None) -> list[tuple[str, str]]:
    if installed is None:
        return [("installed", "no")]
    receipt, selection = installed.receipt, installed.selection
    server = installed.server
    return [
        ("installed", f"{receipt.version} on {receipt.installed_at}" + (", kept" if selection.pin else "")),
        ("from", receipt.source),
        ("digest", receipt.digest),
        ("index", receipt.index_url),
        ("starts", shlex.join([server.command, *server.args])),
        *(("env", f"{name}={value}") for name, value in server.env.items()),
        ("before", selection.previous.rpartition("-")[0]),
    ]
