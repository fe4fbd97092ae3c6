"""What is required of clients, one module per topic."""

from acpella.check.requirement import Area

from . import messages, services, setup, turns

__all__ = ["AREAS"]

AREAS: tuple[Area, ...] = (
    messages.AREA,
    setup.INITIALIZE,
    setup.SESSIONS,
    turns.PROMPT,
    turns.UPDATES,
    services.PERMISSION,
    services.FILES,
    services.TERMINALS,
    services.FORMS,
)
