"""The environment variables of acpella: which there are, which is meant, and the table of them.

Commands look at names alone. The rest is collected from the modules that read the variables, for
`acpella help environment` and the documentation.
"""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acpella._variables import Variable

__all__ = ["NAMES", "environment_page", "environment_text", "every_variable", "find_misspelt", "variables"]

NAMES = (
    "ACPELLA_COMPATIBLE_API_KEY",
    "ACPELLA_COMPATIBLE_BASE_URL",
    "ACPELLA_CONTEXT_WINDOW",
    "ACPELLA_DAEMON_IDLE",
    "ACPELLA_EDITOR_TIMEOUT",
    "ACPELLA_FETCH_PRIVATE",
    "ACPELLA_LOG",
    "ACPELLA_LOG_LEVEL",
    "ACPELLA_MAX_IMAGE_BYTES",
    "ACPELLA_MAX_SESSIONS",
    "ACPELLA_MAX_STORED_SESSIONS",
    "ACPELLA_MODEL",
    "ACPELLA_MODELS",
    "ACPELLA_OWNER_IDLE",
    "ACPELLA_PAGE_SIZE",
    "ACPELLA_PERMISSION_FILE",
    "ACPELLA_REGISTRY_URL",
    "ACPELLA_SANDBOX_ENV",
    "ACPELLA_SANDBOX_READ",
    "ACPELLA_SESSION_IDLE_TIMEOUT",
    "ACPELLA_STORE",
    "ACPELLA_TERMINAL_TIMEOUT",
    "ACPELLA_TOKEN",
    "ACPELLA_TOKEN_FILE",
    "ACPELLA_UNSTABLE",
)
"""All but those of servers. A test compares them with `every_variable`, which takes too long to load."""

SERVER = "ACPELLA_SERVER_"
"""How those of servers begin; `acpella serve` refuses to start with one that it does not know."""

ALIKE = 0.85
"""How alike a name must be to one of ours to count as a slip."""

MODULES = (
    "acpella.cli.environment",
    "acpella.registry.variables",
    "acpella.agent.settings",
    "acpella.coder.variables",
    "acpella.server.settings",
)
"""Where variables are declared, in the order of the table."""


def find_misspelt() -> list[tuple[str, str]]:
    """Variables that are set and not known, each with the one that was probably meant."""
    odd = [
        name
        for name in os.environ
        if name.startswith("ACPELLA_") and name not in NAMES and not name.startswith(SERVER)
    ]
    if not odd:
        return []
    import difflib

    close = [(name, difflib.get_close_matches(name, NAMES, n=1, cutoff=ALIKE)) for name in odd]
    return [(name, matches[0]) for name, matches in close if matches]


def variables() -> "list[Variable]":
    """Those of the command line itself, see `acpella._variables`."""
    from acpella._variables import Variable

    return [
        Variable(
            "ACPELLA_DAEMON_IDLE",
            "seconds",
            "300",
            "How long the background process of a session stays when nobody uses it",
        ),
        Variable("ACPELLA_OWNER_IDLE", "seconds", "", "The old name of `ACPELLA_DAEMON_IDLE`"),
        Variable("ACPELLA_TOKEN", "secret", "", "The token for agents behind a URL, and of `acpella serve`"),
        Variable("ACPELLA_TOKEN_FILE", "path", "", "The file of tokens that `acpella serve` reads"),
    ]


def every_variable() -> "list[Variable]":
    """What each module declares."""
    import importlib

    return [variable for name in MODULES for variable in importlib.import_module(name).variables()]


def environment_text() -> str:
    """The table for a terminal."""
    rows = [
        f"{variable.name}\n    {variable.about} ({variable.kind}"
        + (f"; default: {variable.default})" if variable.default else ")")
        for variable in every_variable()
    ]
    return "\n".join(rows)


def environment_page() -> str:
    """The table as a page of the documentation."""
    rows = [
        f"| `{variable.name}` | {variable.kind} | {f'`{variable.default}`' if variable.default else ''} "
        f"| {variable.about} |".replace("  |", " |")
        for variable in every_variable()
    ]
    return "\n".join(
        [
            "# Environment variables",
            "",
            "acpella reads these variables. `acpella help environment` prints the same list.",
            "A variable whose name looks like one of them but is misspelt gets a warning.",
            "",
            "| variable | what it holds | default | what it does |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )
