"""How to start known agents with a fake model: without a key, without cost, in a home of their own."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from acpella.errors import TransportError

from .model import FakeModel

__all__ = ["PreparedAgent", "Recipe", "recipe", "recipe_names"]

_Prepare: TypeAlias = Callable[[str, Path], Mapping[str, str]]
"""Writes an agent's own settings into a home directory; returns the variables that it also needs."""


@dataclass(frozen=True, slots=True)
class PreparedAgent:
    """An agent that is ready to start: `connect(prepared.command, env=prepared.env)`."""

    command: Sequence[str]
    env: Mapping[str, str]
    """Variables to lay over this process's environment."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one known agent is pointed at a fake model."""

    name: str
    command: Sequence[str]
    install: str
    """The command that installs the agent."""
    writes_files: bool = True
    """Whether the agent has a tool that writes files; Codex writes them with commands."""
    asks_to_write: bool = True
    """Whether it asks before it writes a file of the project."""
    aliases: frozenset[str] = frozenset()
    prepare_home: _Prepare = field(default=lambda url, home: {}, repr=False)

    def program(self, path: str | None = None) -> str | None:
        """The whole path of the agent's program; None if it is not installed. `path` replaces `PATH`."""
        return shutil.which(self.command[0], path=path)

    def prepare(
        self, model: FakeModel | str, home: str | os.PathLike[str], *, path: str | None = None
    ) -> PreparedAgent:
        """Write the agent's settings into `home`, and return how to start it.

        `model` is a running fake model or its URL; `path` is searched instead of `PATH`.

        Raises:
            TransportError: the agent is not installed; says how to install it.
        """
        program = self.program(path)
        if program is None:
            raise TransportError(
                f"{self.name} is not installed: there is no program {self.command[0]} on the PATH; "
                f"{self.install} installs it"
            )
        url = model if isinstance(model, str) else model.url
        home = Path(home).absolute()
        home.mkdir(parents=True, exist_ok=True)
        folders = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
        env = {
            "HOME": str(home),
            "USERPROFILE": str(home),
            **{name: str(home / name.lower()) for name in folders},
            "NO_PROXY": "127.0.0.1,localhost",
            **({} if path is None else {"PATH": path}),
            **self.prepare_home(url, home),
        }
        return PreparedAgent([program, *self.command[1:]], env)


def recipe(name: str) -> Recipe:
    """The recipe of a known agent, by its short name or the name of its program.

    Raises:
        ValueError: no recipe has this name; the message lists all recipes.
    """
    for candidate in _RECIPES:
        if name == candidate.name or name in candidate.aliases:
            return candidate
    raise ValueError(f"no recipe {name!r}; there are {', '.join(recipe_names())}")


def recipe_names() -> list[str]:
    """The agents that there are recipes for."""
    return [each.name for each in _RECIPES]


def _opencode(url: str, home: Path) -> Mapping[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"fake-model": {"name": "Fake"}},
    }
    config = {
        "provider": {"fake": provider},
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "permission": {"bash": "ask", "edit": "ask"},
        "autoupdate": False,
        "share": "disabled",
    }
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _gemini(url: str, home: Path) -> Mapping[str, str]:
    security = {
        "auth": {"selectedType": "gemini-api-key"},
        "folderTrust": {"enabled": False},  # else it starts no MCP servers, and refuses modes that it offers
    }
    settings = {"security": security, "telemetry": {"enabled": False}}
    _write(home / ".gemini" / "settings.json", json.dumps(settings))
    return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_MODEL": "gemini-2.5-flash"}


def _codex(url: str, home: Path) -> Mapping[str, str]:
    config = (
        'model = "fake-model"\nmodel_provider = "fake"\n'
        'approval_policy = "on-request"\nsandbox_mode = "read-only"\n'
        f'[model_providers.fake]\nname = "Fake"\nbase_url = "{url}/v1"\n'
        'wire_api = "responses"\nenv_key = "FAKE_KEY"\n'
    )
    _write(home / ".codex" / "config.toml", config)
    return {
        "CODEX_HOME": str(home / ".codex"),
        "FAKE_KEY": "none",
        "INITIAL_AGENT_MODE": "read-only",  # in the default mode of 2.0 a model decides
    }


def _claude(url: str, home: Path) -> Mapping[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_AUTH_TOKEN": "",
        "CLAUDE_CODE_USE_BEDROCK": "",
        "CLAUDE_CODE_USE_VERTEX": "",
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",  # without it, Claude refuses to run as root, as in a container
    }


def _kimi(url: str, home: Path) -> Mapping[str, str]:
    return {
        "KIMI_CODE_HOME": str(home / ".kimi"),
        "KIMI_CODE_NO_AUTO_UPDATE": "1",
        "KIMI_DISABLE_TELEMETRY": "1",
        "KIMI_MODEL_API_KEY": "none",
        "KIMI_MODEL_BASE_URL": f"{url}/v1",
        "KIMI_MODEL_NAME": "fake-model",
        "KIMI_MODEL_PROVIDER_TYPE": "openai",
    }


def _vibe(url: str, home: Path) -> Mapping[str, str]:
    config = (
        'active_model = "fake"\nenable_telemetry = false\nenable_update_checks = false\n'
        f'[[providers]]\nname = "fake"\napi_base = "{url}/v1"\n'
        'api_key_env_var = "FAKE_KEY"\nbackend = "generic"\n'
        '[[models]]\nname = "fake-model"\nprovider = "fake"\nalias = "fake"\n'
    )
    _write(home / ".vibe" / "config.toml", config)
    return {"VIBE_HOME": str(home / ".vibe"), "FAKE_KEY": "none", "MISTRAL_API_KEY": "none"}


def _acpella(url: str, home: Path) -> Mapping[str, str]:
    return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none"}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


_RECIPES = (
    Recipe(
        "acpella",
        (sys.executable, "-m", "acpella", "agent", "--model", "openai:fake-model"),
        "pip install 'acpella[standard]'",
        aliases=frozenset({"built-in"}),
        prepare_home=_acpella,
    ),
    Recipe(
        "claude",
        ("claude-agent-acp",),
        "npm install -g @agentclientprotocol/claude-agent-acp",
        aliases=frozenset({"claude-agent-acp"}),
        prepare_home=_claude,
    ),
    Recipe(
        "codex",
        ("codex-acp",),
        "npm install -g @agentclientprotocol/codex-acp",
        writes_files=False,
        aliases=frozenset({"codex-acp"}),
        prepare_home=_codex,
    ),
    Recipe(
        "gemini",
        ("gemini", "--acp"),
        "npm install -g @google/gemini-cli",
        aliases=frozenset({"gemini-cli"}),
        prepare_home=_gemini,
    ),
    Recipe(
        "kimi",
        ("kimi", "acp"),
        "npm install -g @moonshot-ai/kimi-code",
        asks_to_write=False,
        aliases=frozenset({"kimi-code"}),
        prepare_home=_kimi,
    ),
    Recipe("opencode", ("opencode", "acp"), "npm install -g opencode-ai", prepare_home=_opencode),
    Recipe(
        "vibe",
        ("vibe-acp",),
        "uv tool install mistral-vibe",
        asks_to_write=False,
        aliases=frozenset({"mistral-vibe", "vibe-acp"}),
        prepare_home=_vibe,
    ),
)
