"""What Tab offers: slash commands of the agent and of the chat, their values, and files after `@`."""

from collections.abc import Callable, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from acpella.local.listing import ListedFiles

from ..session.choices import SessionChoices
from ..terminal.clean import one_line

__all__ = ["Offers"]


class Offers(Completer):
    """Completes commands at the beginning, and files anywhere."""

    def __init__(
        self,
        *,
        commands: Callable[[], list[tuple[str, str]]],
        values: Callable[[str, list[str]], SessionChoices | list[tuple[str, str]] | None],
        files: Callable[[], ListedFiles],
    ) -> None:
        self._commands = commands
        self._values = values
        self._files = files

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        before = document.text_before_cursor
        word = before.split()[-1] if before and not before[-1].isspace() else ""
        if word.startswith("@"):
            part = word[1:].removeprefix('"')
            for name in self._files().matching(part):
                mention = f'@"{name}"' if " " in name else f"@{name}"
                yield Completion(mention + " ", start_position=-len(word), display=one_line(name, 100))
        elif before.startswith("/") and "\n" not in before:
            yield from self._command(before, word)

    def _command(self, before: str, word: str) -> Iterable[Completion]:
        words = before[1:].split()
        if before == "/" or (len(words) == 1 and word):
            typed = before[1:].lower()
            for name, about in self._commands():
                if name.lower().startswith(typed) or name.lower().startswith(":" + typed):
                    yield Completion(
                        f"/{name}", start_position=-len(before), display_meta=one_line(about, 60)
                    )
            return
        values = self._values(words[0], words[1:] if not word else words[1:-1])
        if values is None:
            return
        pairs = [(v.id, v.name) for v in values.values] if isinstance(values, SessionChoices) else values
        for value, about in pairs:
            if value.lower().startswith(word.lower()):
                yield Completion(value, start_position=-len(word), display_meta=one_line(about, 60))
