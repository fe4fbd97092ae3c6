"""`python -m acpella.testing.scripted SCRIPT`: what `ScriptedAgent.command` starts."""

import sys

from .agent import ScriptedAgent


def main() -> None:
    """Follow the script on stdin and stdout."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m acpella.testing.scripted SCRIPT (the script of a ScriptedAgent.command)")
    ScriptedAgent.from_script(sys.argv[1]).run()


if __name__ == "__main__":
    main()
