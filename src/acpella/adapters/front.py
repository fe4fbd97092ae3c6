"""The entry points: `adapt` and `run` take a prompt handler, a framework's agent, or a factory for one."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acpella.agent import Agent
from acpella.agent import run as run_handler

if TYPE_CHECKING:
    from .interface import Adapter

__all__ = ["adapt", "is_factory", "run"]

_OURS = ("models", "present", "permission_key", "editor_tools")
"""Keywords of `adapt` that are not passed to a framework."""


def adapt(target: Any, **options: Any) -> Agent:
    """An `Agent` from a framework's agent: pydantic-ai, LangChain, LangGraph, deepagents, OpenAI Agents,
    Claude Agent SDK, Google ADK, Strands, or one that another package has an adapter for.

    `target` may also be a function that makes one for each session; it takes the `Session`, or nothing. A
    prompt handler becomes the agent that `run` would run.

    Options are those of `Agent` (sessions are kept in SQLite unless `store` says otherwise) and: `models`,
    names or a mapping from names to the framework's models, for the user to choose from; `present`, how to
    show calls of a tool: `{"deploy": dict(kind="execute", title="Deploy {env}")}`; `permission_key`, what
    "always" covers, from a tool's name and arguments; `editor_tools`, whether the model gets tools to read,
    write and run through the editor. Each framework has options of its own.

    Raises:
        TypeError: there is no adapter for the object, or no such option.
        ImportError: the framework is too old; the message says how to upgrade it.
    """
    if isinstance(target, Agent):
        if options:
            raise TypeError("this is an acpella.Agent already; give the options where it is made")
        return target
    if _is_function(target) and not is_factory(target):
        options.setdefault("name", _name_of(target))
        agent = Agent(**options)
        agent.on_prompt(target)
        return agent
    from .agent import AdaptedAgent, cannot_adapt
    from .detect import find_adapter

    adapter: Adapter | None = None
    if _is_function(target):
        options.setdefault("name", _name_of(target))
    else:
        adapter = find_adapter(target)
        if adapter is None:
            raise cannot_adapt(target)
    ours, framework = _split(options, adapter)
    return AdaptedAgent(target, adapter, framework_options=framework, **ours)


def run(target: Any, **options: Any) -> None:
    """Run an agent on stdin and stdout, for an editor to start: `acpella.run(reply)`, `acpella.run(agent)`.

    `target` is a prompt handler with the options of `Agent`, or what `adapt` takes with its options.
    """
    if _is_function(target) and not is_factory(target):
        run_handler(target, **options)
        return
    from acpella.agent.logs import logging_failures

    with logging_failures(str(options.get("name", "agent"))):
        agent = adapt(target, **options)
    agent.run()


def is_factory(function: Any) -> bool:
    """Whether a function makes an agent rather than answers a prompt: it takes nothing, or a `session`."""
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        return False
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some callables have no signature
        return False
    if not parameters:
        return True
    first = parameters[0]
    annotation = getattr(first.annotation, "__name__", first.annotation)
    return len(parameters) == 1 and (
        first.name == "session"
        or (isinstance(annotation, str) and annotation.rpartition(".")[2] == "Session")
    )


def _is_function(target: Any) -> bool:
    """Whether this is a function. Other callables do not count: agents of some frameworks can be called."""
    return inspect.isroutine(target)


def _name_of(function: Any) -> str:
    try:
        return Path(inspect.getfile(function)).stem
    except TypeError:
        return "agent"


def _split(options: dict[str, Any], adapter: "Adapter | None") -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the options into ours and those of the framework."""
    option_names = {*inspect.signature(Agent).parameters, *_OURS}
    own = {name: value for name, value in options.items() if name in option_names}
    framework = {name: value for name, value in options.items() if name not in option_names}
    if adapter is not None and (unknown := sorted(set(framework) - set(adapter.options))):
        offered = sorted({*option_names, *adapter.options})
        raise TypeError(f"adapt() has no option {', '.join(unknown)}; there are: {', '.join(offered)}")
    return own, framework
