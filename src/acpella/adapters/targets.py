"""Finds the object that `my.py:agent`, `my.py` or `module:agent` refers to."""

import importlib
import importlib.util
import inspect
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from acpella._references import is_reference
from acpella.agent import Agent

from .detect import frameworks, is_adaptable
from .front import adapt, is_factory

__all__ = ["adapt_target", "load_target"]

_PREFERRED = ("agent", "app", "graph", "root_agent")
"""Names that are preferred if a file has several agents."""

_PACKAGES = {
    "pydantic_ai": "pydantic-ai",
    "langchain": "langchain",
    "langgraph": "langgraph",
    "langchain_core": "langchain",
    "deepagents": "deepagents",
    "agents": "openai-agents",
    "claude_agent_sdk": "claude-agent-sdk",
    "google.adk": "google-adk",
    "google": "google-adk",
    "strands": "strands-agents",
    "smolagents": "smolagents",
}
"""The package to install if a program imports a framework that is missing."""


def adapt_target(reference: str, **options: Any) -> Agent:
    """The agent that a reference names. `options` are for an object that is not an `Agent` already.

    Raises:
        ImportError: there is no such file or module, or it cannot be imported; says what to install.
        ValueError: it has no such object, or one that is not an agent.
    """
    target = load_target(reference)
    if isinstance(target, Agent):
        return target
    if not inspect.isroutine(target) and not is_adaptable(target):
        raise ValueError(
            f"{reference} is a {type(target).__name__}, not an acpella.Agent, nor an agent of "
            f"{', '.join(frameworks())}"
        )
    return adapt(target, **options)


def load_target(reference: str) -> Any:
    """The object that a reference names: an `Agent`, a framework's agent, or a function.

    `my.py` alone means the one agent that the file has, or of several the one that is called `agent`, `app`,
    `graph` or `root_agent`.

    Raises:
        ImportError: there is no such file or module, or it cannot be imported; says what to install.
        ValueError: it has no such object, or several without one of these names; says which there are.
    """
    where, name = reference, ""
    if is_reference(reference):
        where, _, name = reference.rpartition(":")
    module = _module_of_file(Path(where)) if where.endswith(".py") else _module(where)
    if name:
        return _named(module, where, name)
    return _only(module, where)


def _named(module: ModuleType, where: str, name: str) -> Any:
    value = getattr(module, name, None)
    if value is not None:
        return value
    candidates = _candidates(module)
    hint = f"; it has: {', '.join(candidates)}" if candidates else ""
    if where.endswith(".py") and not candidates:
        hint = f"; `acpella serve {where}` hosts it as a program, if it is one"
    raise ValueError(f"{where} has no {name!r}{hint}")


def _only(module: ModuleType, where: str) -> Any:
    candidates = _candidates(module)
    preferred = [name for name in _PREFERRED if name in candidates]
    distinct = {id(getattr(module, name)) for name in candidates}
    if len(distinct) == 1 or len({id(getattr(module, name)) for name in preferred}) == 1:
        return getattr(module, (preferred or candidates)[0])
    if candidates:
        raise ValueError(
            f"{where} has several agents: {', '.join(candidates)}; say which: {where}:{candidates[0]}"
        )
    functions = [n for n, v in _own(module).items() if inspect.isfunction(v) and is_factory(v)]
    hint = f" If a function makes it, name it: {where}:{functions[0]}." if functions else ""
    raise ValueError(
        f"{where} has no agent.{hint} An acpella.Agent is one, and agents of {', '.join(frameworks())}."
    )


def _candidates(module: ModuleType) -> list[str]:
    """The names of what can be served as it is."""
    return [
        name
        for name, value in _own(module).items()
        if not isinstance(value, type)
        and (
            callable(getattr(value, "serve_on", None))
            or (not inspect.isroutine(value) and is_adaptable(value))
        )
    ]


def _own(module: ModuleType) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }


def _module(name: str) -> ModuleType:
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise ImportError(f"there is no module {name!r} here or among the installed ones") from None
        raise _not_importable(name, error) from error


def _module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ImportError(f"there is no file {path}")
    sys.path.insert(0, str(path.parent.absolute()))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise _not_importable(str(path), error) from error
    return module


def _not_importable(where: str, error: ModuleNotFoundError) -> ImportError:
    missing = error.name or ""
    package = _PACKAGES.get(missing) or _PACKAGES.get(missing.split(".")[0])
    hint = (
        ""
        if package is None
        else f"; install it into this environment: {sys.executable} -m pip install {package}"
    )
    return ImportError(f"{where} cannot be imported: {error}{hint}")
