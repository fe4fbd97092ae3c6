"""Pages of the reference that are made from the code, so that they cannot be wrong.

`python docs/site/generated.py` writes the tables, which are kept in the repository so that they can be
read there; a test compares them. The pages about Python are made when the site is built: MkDocs calls
`on_files`.
"""

import argparse
import ast
import importlib
import inspect
import os
import textwrap
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

PYTHON = {
    "acpella": "The names that most programs need",
    "acpella.agent": "The agent SDK",
    "acpella.adapters": "Agents of other frameworks",
    "acpella.client": "The client SDK",
    "acpella.sync": "The client SDK without asyncio",
    "acpella.server": "Hosting",
    "acpella.sessions": "Conversations in a store",
    "acpella.coder": "The built-in coding agent",
    "acpella.coder.models": "Models of the built-in agent",
    "acpella.mcp": "MCP servers of a session",
    "acpella.local": "Files and commands of this machine, fenced in",
    "acpella.recording": "Recordings of conversations",
    "acpella.check": "Checks of agents, clients and recordings",
    "acpella.testing": "A kit to test agents and clients",
    "acpella.transport": "Channels: bytes to and from peers",
    "acpella.rpc": "JSON-RPC without ACP",
    "acpella.schema": "The types of ACP",
    "acpella.errors": "Everything that is raised",
}
"""Modules whose public names have a page."""


def tables() -> dict[str, str]:
    """Text of each page that is kept in the repository, by its place in the docs."""
    from acpella.cli.environment import environment_page

    return {
        "reference/cli.md": command_line(),
        "reference/exit-codes.md": exit_codes(),
        "reference/agent-settings.md": agent_settings(),
        "reference/server-settings.md": server_settings(),
        "reference/methods.md": methods(),
        "reference/requirements.md": requirements(),
        "reference/environment.md": environment_page(),
    }


def requirements() -> str:
    """What `acpella check` looks at, by topic."""
    from acpella.check import AGENT_AREAS, CLIENT_AREAS
    from acpella.check.requirement import LEVELS

    parts = [
        "# Requirements\n\n"
        "These are the facts that `acpella check` looks at; [Check an agent, a client or a\n"
        "recording](../how-to/check.md) says how. The rules are those of [Rules of the\n"
        "protocol](protocol-rules.md). TCK names the requirement of the protocol's own test kit that is\n"
        "about the same. Needs are the prompts that an agent must have in its profile.\n\n"
        "| level | |\n|---|---|\n" + "".join(f"| `{level}` | {text} |\n" for level, text in LEVELS.items())
    ]
    for title, areas in (("Agents", AGENT_AREAS), ("Clients", CLIENT_AREAS)):
        count = sum(len(area.requirements) for area in areas)
        parts.append(f"## {title}\n\nThere are {count}.\n")
        for area in areas:
            rows = "".join(
                f"| `{r.id}` | {r.level} | [{r.rule}]({r.link}) | {r.text.replace('|', chr(92) + '|')} "
                f"| {r.tck} | {', '.join(r.needs)} |\n"
                for r in area.requirements
            )
            head = "| id | level | rule | | TCK | needs |\n|---|---|---|---|---|---|\n"
            parts.append(f"### {area.title}{' of clients' if area.side == 'client' else ''}\n\n{head}{rows}")
    return "\n".join(parts)


def python_pages() -> dict[str, str]:
    """Text of each page about a module."""
    return {f"reference/python/{page_of(module)}": python_module(module) for module in PYTHON}


def page_of(module: str) -> str:
    return module.removeprefix("acpella.").replace(".", "-") + ".md"


# -- the command line --------------------------------------------------------------------------------


def command_line() -> str:
    """Every command with its help, as the terminal shows it."""
    from acpella import cli

    os.environ["COLUMNS"] = "92"  # as wide as a page
    parts = [
        "# The command line\n\n"
        "This page shows the help of every command. `acpella COMMAND --help` prints the same.\n\n"
        f"```text\n{cli.main_parser().format_help()}```\n"
    ]
    for name in cli.COMMANDS:
        parts.extend(_help_of(cli.command_parser(name), level=2))
    return "\n".join(parts)


def _help_of(parser: argparse.ArgumentParser, level: int) -> Iterator[str]:
    from acpella.cli.examples import subcommands

    yield f"{'#' * level} {parser.prog}\n\n```text\n{parser.format_help().rstrip()}\n```\n"
    for child in subcommands(parser).values():
        yield from _help_of(child, level + 1)


def exit_codes() -> str:
    """What each exit code says."""
    from acpella.agent.program import READING_FAILED
    from acpella.cli import exits

    rows = "\n".join(f"| {code} | {text} |" for code, text in sorted(exits.CODES.items()))
    return f"""\
# Exit codes

A script can tell from the exit code of `acpella run` how the prompt ended.

| code | meaning |
|---|---|
{rows}
| 129, 143 | ended by SIGHUP or SIGTERM |

An agent that ends before it answers for the first time did not start: that is 3. If it ends later, that is 4.

Other commands use the same codes, and 1 for a negative answer: `acpella check` when a requirement is not met,
`acpella inspect --findings` when something is wrong.

Agents made with acpella, `acpella agent` included, have exit codes of their own. Editors show them:

| code | meaning |
|---|---|
| 0 | the editor closed the connection |
| 1 | the program failed, for instance at an import; stderr says why |
| {READING_FAILED} | acpella failed to read a message; its log says which. Please report it |
"""


# -- settings ------------------------------------------------------------------------------------------


def agent_settings() -> str:
    """Limits of an agent."""
    from acpella.agent.settings import Settings

    return """\
# Settings of an agent

The author gives them as `Agent(..., settings={"page_size": 100})`. The environment of the person who runs
the agent has the last word.

""" + _settings_table(Settings, "ACPELLA_")


def server_settings() -> str:
    """Limits of a server."""
    from acpella.server.settings import ServerSettings

    return """\
# Settings of a server

Each is a line of the TOML file that `acpella serve --config FILE` reads, or an environment variable, which
has the last word. Lists are separated by commas in the environment. In a program, pass
`settings=ServerSettings(...)` to `asgi` or `serve`.

""" + _settings_table(ServerSettings, "ACPELLA_SERVER_")


def _settings_table(settings: type, prefix: str) -> str:
    from acpella._variables import of_settings

    sentences = attribute_docs(settings)
    rows: list[str] = []
    for field, variable in zip(fields(settings), of_settings(settings, prefix), strict=True):
        default = f"`{variable.default}`" if variable.default else ""
        rows.append(
            f"| `{field.name}` | `{variable.name}` | {variable.kind} | {default} "
            f"| {sentences.get(field.name, '')} |".replace("|  |", "| |")
        )
    head = "| name | variable | what it holds | default | meaning |\n|---|---|---|---|---|\n"
    return head + "\n".join(rows) + "\n"


def attribute_docs(owner: type) -> dict[str, str]:
    """The strings that stand beneath the attributes of a class."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    body = tree.body[0]
    assert isinstance(body, ast.ClassDef)
    docs: dict[str, str] = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
        ):
            docs[statement.target.id] = " ".join(str(following.value.value).split()).replace("|", "\\|")
    return docs


# -- the protocol -----------------------------------------------------------------------------------------


def methods() -> str:
    """The table of all methods."""
    from acpella.schema import methods as table

    known: list[table.Method[Any, Any]] = [
        value for value in vars(table).values() if isinstance(value, table.Method)
    ]

    def section(title: str, receiver: str) -> str:
        rows: list[str] = []
        for method in sorted((m for m in known if m.to in (receiver, "both")), key=lambda m: m.name):
            types = f"{_type(method.params)} | {_type(method.result)}"
            rows.append(
                f"| `{method.name}` | {method.kind} | {types} | {method.gate or ''} | {method.stability} |"
            )
        head = "| method | kind | params | result | offered by | stability |\n|---|---|---|---|---|---|\n"
        return f"## {title}\n\n{head}" + "\n".join(rows) + "\n"

    return f"""\
# Methods of the protocol

acpella reads this table itself: `acpella.schema.methods`. The column *offered by* names the capability that a
peer has to advertise before the other may call the method.

{section("To the agent", "agent")}
{section("To the client", "client")}"""


def _type(value: Any) -> str:
    """A class by its name; a union has none on some Pythons and `Union` on others."""
    return f"`{value.__name__}`" if isinstance(value, type) and value is not type(None) else ""


def python_module(name: str) -> str:
    """The public names of a module, from their docstrings."""
    module = importlib.import_module(name)
    public = [item for item in module.__all__ if not item.startswith("__") and not _is_module(module, item)]
    title = f"# {name}\n\n{PYTHON[name]}.\n\n"
    if name == "acpella":
        homes = {item: getattr(module, item).__module__ for item in public}
        rows = "\n".join(f"| `acpella.{item}` | {_first_line(getattr(module, item))} |" for item in homes)
        return f"{title}| name | what it is |\n|---|---|\n{rows}\n"
    return title + "\n\n".join(f"::: {name}.{item}" for item in public) + "\n"


def _is_module(module: Any, item: str) -> bool:
    return inspect.ismodule(getattr(module, item))


def _first_line(value: Any) -> str:
    return (inspect.getdoc(value) or "").partition("\n")[0].replace("|", "\\|")


# -- what MkDocs calls ------------------------------------------------------------------------------


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to those that are in the repository."""
    from mkdocs.structure.files import File

    for path, text in python_pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def main() -> None:
    docs = Path(__file__).parents[1]
    for path, text in tables().items():
        (docs / path).write_text(text, encoding="utf-8")
        print(f"docs/{path}")


if __name__ == "__main__":
    main()
