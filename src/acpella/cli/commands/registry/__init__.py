"""`acpella registry`: find, install, update and check agents of the public ACP registry."""

import argparse
from typing import Any

from acpella.errors import AcpellaError

from ... import exits
from ...failures import report

__all__ = ["declare", "parse", "run"]


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Agents of the public ACP registry. An installed one is an agent name everywhere: "
        "`acpella run -a ID`, `chat`, `serve`, `acpella.connect(ID)`."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add = actions.add_parser
    listing = add("list", help="the agents of the registry, and which are installed")
    listing.add_argument("--search", default="", metavar="WORDS", help="only those with all of these words")
    listing.add_argument("--installed", action="store_true", help="only those that are installed")
    searching = add("search", help="the agents that have all of the words in name or description")
    searching.add_argument("words", nargs="+", metavar="WORD", help="all of them must be there, in any order")
    showing = add("show", help="all about one agent, and about its installation")
    installing = add("install", help="install an agent, after showing what that is and asking once")
    updating = add("update", help="install newer versions; an agent that then does not start stays as it is")
    removing = add("remove", help="delete an installed agent; its own settings and logins stay")
    running = add("run", help="start an installed agent on stdin and stdout, as an editor does")
    logging_in = add("login", help="log in at an installed agent")
    checking = add("check", help="check an agent by the rules that the registry has for being listed")
    exporting = add("export", help="print the settings lines of an editor for installed agents")
    for sub in (showing, running, logging_in):
        sub.add_argument(
            "agent", metavar="ID", help="the agent's id in the registry, or a short name such as claude"
        )
    for sub in (installing, removing):
        sub.add_argument(
            "agents", nargs="+", metavar="ID", help="ids of the registry, or short names such as claude"
        )
    updating.add_argument("agents", nargs="*", metavar="ID", help="installed agents")
    _declare_installing(installing, updating)
    removing.add_argument("--logout", action="store_true", help="let the agent forget its login first")
    running.add_argument("args", nargs="*", metavar="ARGUMENT", help="added to the agent's own, after --")
    logging_in.add_argument("--method", metavar="LOGIN", help="which of its logins; default: ask")
    logging_in.add_argument(
        "--replace-args",
        action="store_true",
        help="start a login in the terminal with its own arguments alone, not with the agent's before them",
    )
    checking.add_argument(
        "target",
        nargs="*",
        metavar="ID|PATH|COMMAND",
        help="an installed agent, a directory with agent.json and icon.svg, or a command after --; "
        "default: the built-in agent",
    )
    checking.add_argument(
        "--offline",
        action="store_true",
        help="do not ask whether the archives and packages of agent.json are there",
    )
    checking.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help="for its answer")
    exporting.add_argument("editor", choices=("zed", "jetbrains"), help="for which editor")
    exporting.add_argument("agents", nargs="*", metavar="ID", help="default: all that are installed")
    exporting.add_argument(
        "--direct", action="store_true", help="the agent's own command, which changes with every update"
    )
    for sub in (listing, searching, showing, installing, updating, checking):
        sub.add_argument("--json", action="store_true", help="as JSON")
    for sub in (listing, searching, showing, installing, updating):
        sub.add_argument(
            "--registry",
            metavar="URL|FILE",
            help="another index; default: ACPELLA_REGISTRY_URL, the settings, or the public one",
        )
        sub.add_argument("--refresh", action="store_true", help="fetch the index even if the copy is fresh")
        sub.add_argument("--offline", action="store_true", help="use the copy of the index on this machine")
    for sub in (installing, updating, running, logging_in):
        sub.add_argument("--yes", action="store_true", help="agree to what would be installed")


def _declare_installing(installing: argparse.ArgumentParser, updating: argparse.ArgumentParser) -> None:
    for sub in (installing, updating):
        sub.add_argument(
            "--scripts",
            action="store_true",
            help="let packages run code of theirs while they are installed, which some need: the install "
            "scripts of npm, and what builds a PyPI package without a wheel",
        )
        sub.add_argument(
            "--no-check", action="store_true", help="use it even if it does not answer when it is started"
        )
    installing.add_argument(
        "--version", metavar="VERSION", help="this version of a package, which updates then leave alone"
    )
    installing.add_argument(
        "--prefer", choices=("binary", "npx", "uvx"), help="which distribution, if it has several"
    )
    updating.add_argument("--all", action="store_true", help="every installed agent")
    updating.add_argument(
        "--rollback", action="store_true", help="go back to the version that was used before"
    )
    updating.add_argument("--unpin", action="store_true", help="also agents that were kept at a version")


def parse(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """Words after `--` are the agent's, whatever they look like."""
    if words[:1] == ["export"]:  # argparse takes no ids behind an option; these have no values
        words = ["export", *sorted(words[1:], key=lambda word: not word.startswith("-"))]
    if words[:1] not in (["run"], ["check"]) or "--" not in words:
        return parser.parse_args(words)
    cut = words.index("--")
    arguments = parser.parse_args(words[:cut])
    if words[0] == "run":
        arguments.args += words[cut + 1 :]
    else:
        arguments.target = ["--", *words[cut + 1 :]]
    return arguments


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from . import changing, looking, using

    work: dict[str, Any] = {
        "list": looking.list_agents,
        "search": looking.search,
        "show": looking.show_agent,
        "install": changing.install_agents,
        "update": changing.update_agents,
        "remove": changing.remove_agents,
        "run": using.run_agent,
        "login": using.log_in,
        "check": using.check_agent,
        "export": using.export,
    }
    try:
        return work[arguments.action](arguments)
    except (AcpellaError, OSError, ValueError, TimeoutError) as error:
        return report(error, doctor=False)
    except KeyboardInterrupt:
        return exits.CANCELLED
