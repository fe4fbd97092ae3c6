"""What the command line of `run` said."""

from dataclasses import dataclass

from ...options import ConversationOptions

__all__ = ["RunOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(ConversationOptions):
    """The options of `run`, typed."""

    prompt: list[str]
    output: str = "text"
    list_commands: bool = False
    no_wait: bool = False
    save_session: str | None = None
    file: str | None = None
    image: list[str]
    timeout: float = 0.0

    @property
    def shows_frames(self) -> bool:
        """Whether stdout is for the frames of the protocol, and for nothing else."""
        return self.output == "jsonl"

    @property
    def too_long(self) -> str:
        """What to say when the time limit is over."""
        return f"no end within {self.timeout:g} s (--timeout)"
