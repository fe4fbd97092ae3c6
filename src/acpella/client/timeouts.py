"""How long a client waits."""

from dataclasses import dataclass, fields

from .workspace import check_seconds

__all__ = ["Timeouts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds; 0 for no limit."""

    startup: float = 30.0
    """From the start of the agent to its first answer; some need 12 s on a cold machine."""

    request: float = 60.0
    """For everything but prompts, loads and logins, which take as long as they take."""

    idle_turn: float = 0.0
    """Without any update in a turn: then it is cancelled, and the agent killed if that does not help."""

    cancel: float = 10.0
    """For a cancelled turn to be answered, before the agent counts as hung."""

    def __post_init__(self) -> None:
        for each in fields(self):
            check_seconds(f"Timeouts.{each.name}", getattr(self, each.name))
