"""Stands between an editor and an agent, and lets people look."""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ... import exits
from ...terminal.output import say

if TYPE_CHECKING:
    from acpella.recording.interceptor import Interceptor

__all__ = ["stand_between"]


def stand_between(arguments: argparse.Namespace) -> int:
    """Run the agent in this program's place; returns its exit code."""
    from acpella.inspector.taps import TappedProgram, registered

    from ...session.recorded_program import place_for, run_recorded, started_as
    from ...state.paths import private, state

    if sys.stdin.isatty():
        say(
            "This waits for messages of an editor: put the same command into the editor's settings. "
            "To talk with the agent yourself, use `acpella web` or `acpella chat`."
        )
        return exits.USAGE
    command = started_as(arguments.command)
    if not command:
        command = [sys.executable, "-m", "acpella", "connect", arguments.what]
    path = Path(arguments.output).absolute() if arguments.output else place_for(command)
    interceptor, socket = _control()
    tap = TappedProgram(os.getpid(), command, str(path), time.time(), socket)
    with registered(private(state() / "taps"), tap):
        return run_recorded(
            command,
            path,
            anonymize=arguments.anonymize,
            media=not arguments.no_media,
            raw=False,
            interceptor=interceptor,
        )


def _control() -> "tuple[Interceptor | None, str]":
    """Lets the inspector hold messages, by the socket that is named; nothing where there can be none."""
    from ...state.paths import private, sockets

    if sys.platform == "win32":
        return None, ""
    from acpella.inspector.control import ControlServer

    try:
        server = ControlServer(private(sockets()) / f"tap-{os.getpid()}.sock")
    except OSError:  # looking is a convenience; the conversation must not fail for it
        return None, ""
    return server, str(server.path)
