"""The same small agents, written with each framework.

A module here has `agent(script, tools, approve)`, which makes the framework's agent with a scripted model;
`model(script, name)`, such a model alone; `nested(script, inner)`, an agent whose tool `delegate` runs a
second agent with the script `inner`; and `options(agent)`, the options that `adapt` needs.
"""

import importlib
from collections.abc import Iterable
from importlib import metadata
from types import ModuleType
from typing import Any

import pytest

PACKAGES = {
    "pydantic_ai": "pydantic-ai-slim",
    "langchain": "langchain",
    "openai_agents": "openai-agents",
    "google_adk": "google-adk",
    "strands": "strands-agents",
    "claude_agent": "claude-agent-sdk",
}
"""Fixture modules and the packages that they need. Not import names: tests also have a module `agents`."""


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def installed() -> list[str]:
    """The frameworks of this environment."""
    return [name for name, package in PACKAGES.items() if _is_installed(package)]


def every(names: Iterable[str] = PACKAGES) -> list[Any]:
    """All frameworks as parameters of tests; those that this environment lacks are skipped and reported."""
    here = installed()
    return [
        name
        if name in here
        else pytest.param(name, marks=pytest.mark.skip("frameworks that `make test-adapters` installs"))
        for name in names
    ]


def load(name: str) -> ModuleType:
    return importlib.import_module(f"adapters.frameworks.{name}_agents")
