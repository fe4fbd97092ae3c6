"""The inspector with a conversation beside it, whose client can be made poorer."""

import argparse
import os
import sys
from pathlib import Path

from ... import exits
from ...session.own_page import ChannelFactory
from ...terminal.output import say

__all__ = ["talk_and_look"]


def talk_and_look(arguments: argparse.Namespace) -> int:
    """Serve both pages until Ctrl-C; returns the exit code. Raises OSError and ValueError.

    The agent runs behind `acpella inspect -- COMMAND`, as it would for an editor, so messages can be held.
    """
    if sys.platform == "win32":
        say("a conversation with an agent that is inspected needs Unix; use WSL")
        return exits.REFUSED
    from acpella.client.targets import open_target
    from acpella.inspector.page import InspectorPage
    from acpella.inspector.sources import of_connections
    from acpella.inspector.taps import live_taps
    from acpella.web import Page, records_of
    from acpella.web.shared.switches import names_of

    from ...session.recorded_program import place_for, started_as
    from ...state.agents import need_program
    from ...state.paths import private, state
    from .server import show_pages

    cwd = Path(arguments.cwd).absolute()
    if not cwd.is_dir():
        raise ValueError(f"{arguments.cwd} is not a directory")
    off = names_of(arguments.without)
    url: str = arguments.what or ""
    command = started_as(arguments.command)
    if command:
        need_program(command, cwd)
    path = Path(arguments.output).absolute() if arguments.output else place_for(command or ["remote"])
    switches = [
        *(["--anonymize"] if arguments.anonymize else []),
        *(["--no-media"] if arguments.no_media else []),
    ]
    tap = [sys.executable, "-m", "acpella", "inspect", *switches, "-o", str(path)]
    tap += ["--", *command] if command else [url]
    name = " ".join(os.path.basename(word) for word in command) or url
    chat = Page(
        name=name,
        cwd=str(cwd),
        writes=not url,
        hidden="",
        records=records_of(["inspect", *(command or [url])], str(cwd)),
        switches=True,
        off=off,
        in_frames=True,
    )
    place = private(state() / "taps")
    page = InspectorPage(of_connections(path, name, lambda: live_taps(place)), live=True, page=chat)
    factory = ChannelFactory(lambda: open_target(tap, cwd=cwd)[1])
    return show_pages(page, factory, name, port=arguments.port, opens=not arguments.no_open)
