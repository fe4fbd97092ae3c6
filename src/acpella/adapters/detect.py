"""Finds the adapter for an object by the names of its classes, so that no framework has to be imported."""

import importlib
import re
from importlib import metadata
from typing import Any

from .interface import Adapter, class_names

__all__ = ["find_adapter", "frameworks", "is_adaptable"]

GROUP = "acpella.adapters"

_OWN: dict[str, Any] = {
    "pydantic_ai": ".pydantic_ai:PydanticAiAdapter",
    "langgraph": ".langgraph:LangGraphAdapter",
    "agents": ".openai_agents:OpenAiAgentsAdapter",
    "claude_agent_sdk": ".claude_agent:ClaudeAgentAdapter",
    "google.adk": ".google_adk:GoogleAdkAdapter",
    "strands": ".strands:StrandsAdapter",
}
"""Our own adapters, by the package in the names of the framework's classes."""


def find_adapter(target: object) -> Adapter | None:
    """The adapter for an object; None if there is none.

    Raises:
        ImportError: the framework is older than the adapter needs; the message says how to upgrade it.
    """
    modules = {name.rpartition(".")[0] for name in class_names(target)}
    if modules <= {"builtins"}:
        return None
    # other packages come second, because looking for their adapters takes a tenth of a second
    for references in (lambda: _OWN, _others):
        for package, reference in references().items():
            if any(module == package or module.startswith(package + ".") for module in modules):
                adapter = _loaded(reference)
                if adapter.matches(target):
                    _check_version(adapter)
                    return adapter
    return None


def is_adaptable(target: object) -> bool:
    """Whether an adapter takes this object."""
    try:
        return find_adapter(target) is not None
    except ImportError:  # an adapter would, if the framework were newer
        return True


def frameworks() -> list[str]:
    """The names of the frameworks there are adapters for."""
    return sorted(_loaded(reference).name for reference in {**_others(), **_OWN}.values())


def _others() -> dict[str, Any]:
    """The adapters that other packages bring."""
    return {point.name: point for point in metadata.entry_points(group=GROUP)}


def _loaded(reference: Any) -> Adapter:
    if isinstance(reference, str):
        module, _, name = reference.partition(":")
        kind = getattr(importlib.import_module(module, __package__), name)
    else:
        kind = reference.load()
    return kind() if isinstance(kind, type) else kind


def _check_version(adapter: Adapter) -> None:
    try:
        installed = metadata.version(adapter.package)
    except metadata.PackageNotFoundError:
        return  # installed under another name, or from a source tree
    if _numbers(installed) < _numbers(adapter.floor):
        raise ImportError(
            f"{adapter.package} {installed} is too old for acpella, which needs {adapter.floor} or newer: "
            f"pip install -U '{adapter.package}>={adapter.floor}'"
        )


def _numbers(version: str) -> tuple[int, ...]:
    release = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, release.group().split("."))) if release else ()
