"""Records an agent in whose place an editor started this program."""

import argparse
from pathlib import Path

from ... import exits
from ...terminal.output import say

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Run the agent; returns its exit code."""
    from ...session.recorded_program import place_for, run_recorded, started_as

    command = started_as(arguments.command)
    try:
        path = Path(arguments.output) if arguments.output else place_for(command)
    except OSError as error:
        say(f"the recording cannot be written: {error}")
        return exits.USAGE
    return run_recorded(
        command, path, anonymize=arguments.anonymize, media=not arguments.no_media, raw=arguments.raw
    )
