"""`acpella record scan`: what still looks secret."""

import argparse

from ...file_errors import RECORDING, explain, is_unfinished
from ...terminal.output import one_line, say, show, show_json

__all__ = ["declare", "run"]

FOUND = 1


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "List what still looks like a secret, or tells who somebody is, before you share a recording.\n"
        "Exit code 1: something was found, or the recording is still being written."
    )
    parser.add_argument("file", metavar="FILE", help="the recording")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from acpella.recording.scan import scan

    unfinished = is_unfinished(arguments.file)
    try:
        # a secret in several chunks is found after what is in the last of them
        findings = sorted(scan(arguments.file), key=lambda finding: finding.line)
    except (OSError, ValueError) as error:
        say(explain(error, missing=RECORDING))
        return 2
    if arguments.json:
        show_json([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            place, excerpt = one_line(finding.place), one_line(finding.excerpt)
            show(f"line {finding.line}  {finding.why}  {place}  {excerpt}")
        if not (findings or unfinished):
            show("nothing looks secret; prompts, answers and file contents are in it all the same")
    return FOUND if findings or unfinished else 0
