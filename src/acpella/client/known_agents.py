"""Agents that are known by a short name: their id in the registry, and their program on the PATH."""

from dataclasses import dataclass

__all__ = ["KNOWN_AGENTS", "KnownAgent", "find_known"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAgent:
    """An agent that needs no settings."""

    name: str
    id: str
    """In the public ACP registry."""
    title: str
    program: str
    """What it is called where it is installed."""
    args: tuple[str, ...] = ()
    npm: str = ""
    """Its package, for when the registry cannot be reached."""
    pypi: str = ""
    aliases: tuple[str, ...] = ()


def _agent(
    name: str,
    agent_id: str,
    title: str,
    command: str,
    *,
    npm: str = "",
    pypi: str = "",
    aliases: tuple[str, ...] = (),
) -> KnownAgent:
    program, *args = command.split()
    return KnownAgent(
        name=name,
        id=agent_id,
        title=title,
        program=program,
        args=tuple(args),
        npm=npm,
        pypi=pypi,
        aliases=aliases,
    )


KNOWN_AGENTS = (
    _agent(
        "claude",
        "claude-acp",
        "Claude Agent",
        "claude-agent-acp",
        npm="@agentclientprotocol/claude-agent-acp",
        aliases=("claude-code",),
    ),
    _agent("codex", "codex-acp", "Codex", "codex-acp", npm="@agentclientprotocol/codex-acp"),
    _agent(
        "gemini", "gemini", "Gemini CLI", "gemini --acp", npm="@google/gemini-cli", aliases=("gemini-cli",)
    ),
    _agent("opencode", "opencode", "OpenCode", "opencode acp", npm="opencode-ai"),
    _agent("copilot", "github-copilot-cli", "GitHub Copilot", "copilot --acp", npm="@github/copilot"),
    _agent("qwen", "qwen-code", "Qwen Code", "qwen --acp", npm="@qwen-code/qwen-code"),
    _agent("kilo", "kilo", "Kilo", "kilo acp", npm="@kilocode/cli", aliases=("kilocode",)),
    _agent("cline", "cline", "Cline", "cline --acp", npm="cline"),
    _agent("auggie", "auggie", "Auggie CLI", "auggie --acp", npm="@augmentcode/auggie"),
    _agent("droid", "factory-droid", "Factory Droid", "droid exec --output-format acp-daemon", npm="droid"),
    _agent("grok", "grok-build", "Grok Build", "grok agent stdio", npm="@xai-official/grok"),
    _agent("qoder", "qoder", "Qoder CLI", "qodercli --acp", npm="@qoder-ai/qodercli"),
    _agent("pi", "pi-acp", "pi", "pi-acp", npm="pi-acp"),
    _agent("fast-agent", "fast-agent", "fast-agent", "fast-agent-acp -x", pypi="fast-agent-acp"),
    _agent("amp", "amp-acp", "Amp", "amp-acp"),
    _agent("cursor", "cursor", "Cursor", "cursor-agent acp"),
    _agent("goose", "goose", "goose", "goose acp"),
    _agent("junie", "junie", "Junie", "junie --acp=true"),
    _agent("kimi", "kimi", "Kimi", "kimi acp"),
    _agent("vibe", "mistral-vibe", "Mistral Vibe", "vibe-acp"),
)
"""Names that people type; the registry has more agents, by their ids."""


def find_known(name: str) -> KnownAgent | None:
    """The agent of a short name, or of the id that the registry has for it."""
    return next((agent for agent in KNOWN_AGENTS if name in (agent.name, agent.id, *agent.aliases)), None)
