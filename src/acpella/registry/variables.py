"""Environment variables: those that an index may set for an agent, and our own."""

import re
from collections.abc import Mapping

from acpella._variables import Variable

__all__ = ["DEFAULT_URL", "INDEX_URL", "allowed_env", "variables"]

INDEX_URL = "ACPELLA_REGISTRY_URL"

DEFAULT_URL = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json"
"""Where the project of the protocol publishes its index."""

_STEERING = re.compile(
    r"PATH|HOME|USERPROFILE|TMPDIR|TMP|TEMP|PATHEXT|COMSPEC|SYSTEMROOT|WINDIR|SHELL|ENV|BASH_ENV"
    r"|.*CERT.*|.*CA_BUNDLE.*|.*_PROXY"
    r"|(?:LD|DYLD|NODE|NPM|PIP|UV|XDG|SSH|AWS|AZURE|GCLOUD|GOOGLE|GITHUB|ACTIONS|RUNNER|GIT|ACPELLA)_.*"
    r"|PYTHON.*|RUBY.*|_?JAVA_.*|JDK_.*|CLASSPATH|PERL.*|OPENSSL_.*|GCONV_PATH"
)
"""Names that control how programs start, or carry the user's credentials (G-026)."""


def allowed_env(env: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """What an index may set for an agent, and the names of what it may not."""
    dropped = sorted(name for name in env if _STEERING.fullmatch(name.upper()))
    return {name: value for name, value in env.items() if name not in dropped}, dropped


def variables() -> list[Variable]:
    """Those that the registry reads, see `acpella._variables`."""
    return [
        Variable(
            INDEX_URL,
            "text",
            DEFAULT_URL,
            "The index of agents that `acpella registry` reads: a URL or a file",
        )
    ]
