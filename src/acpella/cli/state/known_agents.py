"""Agents that are known by name: how each is started, installed or from its package."""

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from acpella.errors import TransportError

from . import paths

if TYPE_CHECKING:
    from acpella.client.settings import AgentServer

__all__ = ["AGENTS", "KnownAgent", "find_known", "server_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAgent:
    """An agent that needs no settings."""

    name: str
    title: str
    program: str
    """What it is called where it is installed."""
    args: tuple[str, ...] = ()
    runner: str = ""
    """`npx` or `uvx`, which start it without an installation; empty if neither does."""
    package: str = ""
    aliases: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def installed(self) -> str | None:
        """The path of its program."""
        import shutil  # not for agents of the settings

        return shutil.which(self.program)

    @property
    def download(self) -> list[str]:
        """The command that gets its package and runs it; empty if there is none."""
        if not self.package:
            return []
        return [self.runner, *(["-y"] if self.runner == "npx" else []), self.package, *self.args]


def _npm(
    name: str, title: str, package: str, program: str, *args: str, aliases: tuple[str, ...] = ()
) -> KnownAgent:
    return KnownAgent(
        name=name, title=title, program=program, args=args, runner="npx", package=package, aliases=aliases
    )


def _program(name: str, title: str, program: str, *args: str, aliases: tuple[str, ...] = ()) -> KnownAgent:
    return KnownAgent(name=name, title=title, program=program, args=args, aliases=aliases)


AGENTS = (
    _npm(
        "claude",
        "Claude Agent",
        "@agentclientprotocol/claude-agent-acp",
        "claude-agent-acp",
        aliases=("claude-acp", "claude-code"),
    ),
    _npm("codex", "Codex", "@agentclientprotocol/codex-acp", "codex-acp", aliases=("codex-acp",)),
    _npm("gemini", "Gemini CLI", "@google/gemini-cli", "gemini", "--acp", aliases=("gemini-cli",)),
    _npm("opencode", "OpenCode", "opencode-ai", "opencode", "acp"),
    _npm("copilot", "GitHub Copilot", "@github/copilot", "copilot", "--acp", aliases=("github-copilot-cli",)),
    _npm("qwen", "Qwen Code", "@qwen-code/qwen-code", "qwen", "--acp", aliases=("qwen-code",)),
    _npm("kilo", "Kilo", "@kilocode/cli", "kilo", "acp", aliases=("kilocode",)),
    _npm("cline", "Cline", "cline", "cline", "--acp"),
    _npm("auggie", "Auggie CLI", "@augmentcode/auggie", "auggie", "--acp"),
    _npm(
        "droid",
        "Factory Droid",
        "droid",
        "droid",
        "exec",
        "--output-format",
        "acp-daemon",
        aliases=("factory-droid",),
    ),
    _npm("grok", "Grok Build", "@xai-official/grok", "grok", "agent", "stdio", aliases=("grok-build",)),
    _npm("qoder", "Qoder CLI", "@qoder-ai/qodercli", "qodercli", "--acp"),
    _npm("pi", "pi", "pi-acp", "pi-acp", aliases=("pi-acp",)),
    KnownAgent(
        name="fast-agent",
        title="fast-agent",
        program="fast-agent-acp",
        args=("-x",),
        runner="uvx",
        package="fast-agent-acp",
    ),
    _program("amp", "Amp", "amp-acp", aliases=("amp-acp",)),
    _program("cursor", "Cursor", "cursor-agent", "acp"),
    _program("goose", "goose", "goose", "acp"),
    _program("junie", "Junie", "junie", "--acp=true"),
    _program("kimi", "Kimi", "kimi", "acp"),
    _program("vibe", "Mistral Vibe", "vibe-acp", aliases=("mistral-vibe",)),
)
"""As the public ACP registry (agentclientprotocol.com) has them; which version is left to `npx` and `uvx`."""


def find_known(name: str) -> KnownAgent | None:
    """The agent of a name, or of the id that the registry has for it."""
    return next((agent for agent in AGENTS if name == agent.name or name in agent.aliases), None)


def server_of(agent: KnownAgent, *, yes: bool = False) -> "AgentServer":
    """How to start an agent: its program, or its package after one question.

    Raises:
        TransportError: it is not installed, and nobody agreed to download it; says what to do.
    """
    from acpella.client.settings import AgentServer

    if program := agent.installed:
        return AgentServer(program, list(agent.args), dict(agent.env))
    command = agent.download
    if not command:
        raise TransportError(
            f"{agent.title} is not installed: there is no {agent.program} on the PATH. Install it, or name "
            "its command with -a"
        )
    import shutil  # not for agents of the settings

    runner = shutil.which(agent.runner)
    if runner is None:
        raise TransportError(
            f"{agent.title} is not installed: there is neither {agent.program} nor {agent.runner} on the PATH"
        )
    if agent.package not in _agreed():
        if not yes and not _ask(agent):
            raise TransportError(
                f"{agent.title} is not installed; `{' '.join(command)}` would download and start it. "
                "Install it, or agree with --yes"
            )
        _remember(agent.package)
    return AgentServer(runner, command[1:], dict(agent.env))


def _ask(agent: KnownAgent) -> bool:
    """Ask once whether a package may be downloaded; without a terminal the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(
        f"{agent.title} is not installed. Download and start it with `{' '.join(agent.download)}`? [y/N] "
    )
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _agreed() -> list[str]:
    """The packages that the user agreed to."""
    try:
        return msgspec.json.decode((paths.state() / "packages.json").read_bytes(), type=list[str])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return []


def _remember(package: str) -> None:
    try:
        paths.private(paths.state())
        paths.write_private(paths.state() / "packages.json", msgspec.json.encode([*_agreed(), package]))
    except OSError:
        pass  # it is asked again next time
