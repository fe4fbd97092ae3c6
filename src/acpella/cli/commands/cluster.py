"""`acpella cluster`: the nodes that share a PostgreSQL store."""

import argparse
import asyncio
import os
from dataclasses import asdict

from .. import exits
from ..terminal.output import say, show, show_json

__all__ = ["declare", "run"]

_EPILOG = """\
A STORE is postgresql://USER:PASSWORD@HOST/DATABASE, or env:NAME for what that variable says: other users of
the machine can see a command line. Without a STORE, it is that of ACPELLA_STORE.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Look at the nodes that share a PostgreSQL store."
    parser.epilog = _EPILOG
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    status = actions.add_parser("status", help="nodes, when they were heard last, and what they have")
    status.add_argument("store", metavar="STORE", nargs="?", default="env:ACPELLA_STORE", help="which store")
    status.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from acpella.sessions import PostgresStore, StoreError

    try:
        store = PostgresStore(_address(arguments.store))
        nodes = asyncio.run(store.nodes())
    except (StoreError, ValueError) as error:
        say(str(error))
        return exits.USAGE
    if arguments.json:
        show_json([asdict(node) for node in nodes])
    elif not nodes:
        show("no node has this store open")
    else:
        rows = [("node", "state", "heard", "sessions", "connections", "running")]
        for node in nodes:
            last_contact = f"{node.silent_seconds:.0f} s ago"
            counts = (str(node.sessions), str(node.connections), str(node.running))
            rows.append((node.name, "alive" if node.alive else "dead", last_contact, *counts))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for row in rows:
            show("  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip())
    return exits.DONE


def _address(text: str) -> str:
    if text.startswith("env:"):
        name = text.removeprefix("env:")
        if not os.environ.get(name):
            raise ValueError(
                f"the environment variable {name} names no store; set it, or name the store itself"
            )
        text = os.environ[name]
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError("only a PostgreSQL store has nodes: postgresql://USER:PASSWORD@HOST/DATABASE")
    return text
