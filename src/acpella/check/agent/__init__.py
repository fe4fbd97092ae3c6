"""What is required of agents, one module per topic."""

from acpella.check.requirement import Area

from . import (
    cancelling,
    choices,
    elicitation,
    files,
    initialization,
    login,
    messages,
    permission,
    prompting,
    robustness,
    setup,
    stored,
    terminals,
    tools,
)

__all__ = ["AREAS"]

AREAS: tuple[Area, ...] = (
    messages.AREA,
    initialization.AREA,
    login.AREA,
    setup.AREA,
    stored.AREA,
    prompting.AREA,
    cancelling.AREA,
    tools.AREA,
    permission.AREA,
    files.AREA,
    terminals.AREA,
    elicitation.AREA,
    choices.MODES,
    choices.OPTIONS,
    choices.COMMANDS,
    robustness.AREA,
)
