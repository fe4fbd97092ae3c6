"""What the agent may do in which mode. Asked before every single use of a tool, not only once a turn."""

from collections.abc import Iterable
from dataclasses import replace

from acpella.agent import Mode

from .tool import Announcement, CoderTool

__all__ = ["MODES", "asks", "in_sandbox", "is_confined", "offered", "refusal"]

MODES = [
    Mode("full", "Full", "Reads, writes and runs commands; asks before it changes anything"),
    Mode("read-only", "Read only", "Reads and searches; writes nothing and runs nothing"),
    Mode("safe", "Safe", "Only tools that cannot do harm: no writes, no commands, no network"),
    Mode(
        "sandbox", "Sandbox", "Writes and runs commands in a throw-away copy of the project, without network"
    ),
]


def refusal(mode: str | None, tool: CoderTool) -> str | None:
    """Why the mode forbids the tool, for the model and the user; None if it does not."""
    if tool.danger in ("none", "claimed") or mode == "full":
        return None
    name = tool.spec.name
    if mode == "sandbox":
        if is_confined(tool):
            return None
        if tool.danger == "network":
            return f"{name} needs the network, which there is none of in the mode `sandbox`"
        return f"{name} works outside of the sandbox and so is off in the mode `sandbox`"
    if mode == "read-only" and tool.danger == "network":
        return None
    what = {"write": "writes", "execute": "runs commands", "network": "uses the network"}[tool.danger]
    return f"{name} {what}, which the mode `{mode}` forbids; the user can switch with /mode full"


def asks(mode: str | None, tool: CoderTool) -> bool:
    """Whether the user is asked before the tool runs."""
    return tool.danger != "none" and (tool.danger != "claimed" or mode != "full")


def is_confined(tool: CoderTool) -> bool:
    """Whether the tool stays inside the sandbox when there is one."""
    return getattr(tool, "confined", False)


def in_sandbox(announced: Announcement) -> Announcement:
    """The same use of a tool in the sandbox: another question, as what is harmless there may not be outside.

    An answer for the project holds in its copy, too; never the other way round.
    """
    return replace(
        announced,
        title=f"In the sandbox: {announced.title}",
        permission_key=f"sandbox:{announced.permission_key}",
        wider_key=announced.permission_key,
        covers=f"{announced.covers} in the sandbox",
    )


def offered(mode: str | None, tools: Iterable[CoderTool]) -> list[CoderTool]:
    """The tools that the model is told of."""
    return [tool for tool in tools if refusal(mode, tool) is None]
