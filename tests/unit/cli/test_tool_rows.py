"""What is said of a tool call: its output, its time."""

import msgspec
import pytest

from acpella.cli.terminal.command_output import MAX_KEPT, Outputs, output_rows, unfenced
from acpella.cli.terminal.tool_rows import tool_row
from acpella.client import ToolCallState
from acpella.schema import ToolCallUpdate


def reported(*pieces: str) -> str:
    """What is shown of output that an agent reports in pieces."""
    call, outputs = ToolCallState("c"), Outputs(lambda terminal_id: None)
    content = [{"type": "terminal", "terminalId": "t"}]
    for piece in pieces:
        meta = {"terminal_output": {"terminal_id": "t", "data": piece}}
        fields = {"toolCallId": "c", "content": content, "_meta": meta}
        update = msgspec.convert(fields, ToolCallUpdate)
        call.apply(update)
        outputs.note(update)
    return "\n".join("".join(text for text, _ in row).strip() for row in output_rows(outputs.of(call)))


def test_of_one_long_line_the_end_is_shown() -> None:
    """Nothing was shown but that one line came before."""
    assert reported("x" * (MAX_KEPT + 5) + "\n") == "x" * (MAX_KEPT - 1)


def test_what_is_left_out_is_counted() -> None:
    assert reported("a\n" + "x" * MAX_KEPT).startswith("… 1 line before\n")


@pytest.mark.parametrize(
    "text, bare",
    [
        ("```\nuse `foo`\n```", "use `foo`"),
        ("```sh\nls\n\n```\n", "ls"),
        ("````\n```\ninner\n```\n````", "```\ninner\n```"),
        ("``not a fence``\nat all ``", "``not a fence``\nat all ``"),
        ("```\nnot closed", "```\nnot closed"),
    ],
)
def test_a_fence_around_output_is_taken_off_and_nothing_else(text: str, bare: str) -> None:
    assert unfenced(text) == bare


@pytest.mark.parametrize("seconds, words", [(59.9, "59.9 s"), (119.7, "2 min 0 s"), (60.4, "1 min 0 s")])
def test_there_are_no_sixty_seconds_beside_minutes(seconds: float, words: str) -> None:
    assert tool_row(ToolCallState("c"), seconds=seconds)[-1][0].strip() == words
