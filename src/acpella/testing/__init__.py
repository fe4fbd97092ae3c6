"""A kit to test agents and clients with.

Each name is imported when it is first used: a program that needs one part does not pay for the others.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import faults
    from .faults import FaultyChannel
    from .model import FakeModel, ModelAnswer, ModelPrompt, ModelRequest, OfferedTool, ToolUse
    from .reaching import TRANSPORTS, Transport, reach
    from .recipes import PreparedAgent, Recipe, recipe, recipe_names
    from .scripted.agent import ScriptedAgent
    from .scripted.client import ClientAnswer, ScriptedClient, ScriptedTurn
    from .scripted.steps import (
        Step,
        ask,
        call,
        crash,
        fail,
        garbage,
        notify,
        plan,
        raw,
        repeat,
        reply,
        say,
        say_answers,
        stall,
        stderr,
        stop,
        think,
        tool,
        update,
        wait,
    )

__all__ = [
    "TRANSPORTS",
    "ClientAnswer",
    "FakeModel",
    "FaultyChannel",
    "ModelAnswer",
    "ModelPrompt",
    "ModelRequest",
    "OfferedTool",
    "PreparedAgent",
    "Recipe",
    "ScriptedAgent",
    "ScriptedClient",
    "ScriptedTurn",
    "Step",
    "ToolUse",
    "Transport",
    "ask",
    "call",
    "crash",
    "fail",
    "faults",
    "garbage",
    "notify",
    "plan",
    "raw",
    "reach",
    "recipe",
    "recipe_names",
    "repeat",
    "reply",
    "say",
    "say_answers",
    "stall",
    "stderr",
    "stop",
    "think",
    "tool",
    "update",
    "wait",
]

_HOMES = {
    "ClientAnswer": ".scripted.client",
    "ScriptedTurn": ".scripted.client",
    "FakeModel": ".model",
    "FaultyChannel": ".faults",
    "ModelAnswer": ".model",
    "ModelPrompt": ".model",
    "ModelRequest": ".model",
    "OfferedTool": ".model",
    "PreparedAgent": ".recipes",
    "Recipe": ".recipes",
    "ScriptedAgent": ".scripted.agent",
    "ScriptedClient": ".scripted.client",
    "Step": ".scripted.steps",
    "TRANSPORTS": ".reaching",
    "ToolUse": ".model",
    "Transport": ".reaching",
    "ask": ".scripted.steps",
    "call": ".scripted.steps",
    "crash": ".scripted.steps",
    "fail": ".scripted.steps",
    "garbage": ".scripted.steps",
    "notify": ".scripted.steps",
    "plan": ".scripted.steps",
    "raw": ".scripted.steps",
    "reach": ".reaching",
    "recipe": ".recipes",
    "recipe_names": ".recipes",
    "repeat": ".scripted.steps",
    "reply": ".scripted.steps",
    "say": ".scripted.steps",
    "say_answers": ".scripted.steps",
    "stall": ".scripted.steps",
    "stderr": ".scripted.steps",
    "stop": ".scripted.steps",
    "think": ".scripted.steps",
    "tool": ".scripted.steps",
    "update": ".scripted.steps",
    "wait": ".scripted.steps",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "faults":
        return import_module(".faults", __name__)
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home, __name__), name)
    return value
