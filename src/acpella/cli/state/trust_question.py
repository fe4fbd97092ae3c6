"""Shows the settings of a project whole, and asks whether they shall be used."""

import json
import shlex
import sys
from pathlib import Path

from acpella.client.settings import ClientSettings

from ..terminal.confirming import confirm
from ..terminal.output import say, show
from ..terminal.reveal import reveal

__all__ = ["agree", "settings_rows"]


def settings_rows(path: Path, settings: ClientSettings) -> list[str]:
    """All that a file would start or send, every word quoted."""
    rows = [str(path)]
    for name, server in settings.agents.items():
        rows.append(f"agent {shlex.quote(name)}")
        if server.url:
            rows.append(f"  goes to  {shlex.quote(server.url)}")
        else:
            rows.append(f"  runs     {shlex.join([server.command, *server.args])}")
        rows += [f"  env      {shlex.quote(f'{key}={value}')}" for key, value in server.env.items()]
        rows += [f"  header   {shlex.quote(f'{key}: {value}')}" for key, value in server.headers.items()]
    for server in settings.mcp_servers:
        rows.append(f"MCP server {shlex.quote(str(server.get('name', '')))}")
        rows += [
            f"  {key:<8} {json.dumps(value, ensure_ascii=False)}"
            for key, value in server.items()
            if key != "name"
        ]
    return rows


def agree(rows: list[str], question: str, *, yes: bool) -> bool:
    """Show the rows, and ask. Enter means no.

    Raises:
        ValueError: nobody can be asked; says what to do.
    """
    visible_rows = [reveal(row) for row in rows]
    for row in visible_rows:
        show(row)
    if visible_rows != rows:
        say(r"part of this would be invisible; it is shown as \x1b, \u202e and the like")
    if yes:
        return True
    if not sys.stdin.isatty():
        raise ValueError("nobody can be asked here; read this, then agree with `acpella agents trust --yes`")
    return confirm(question)
