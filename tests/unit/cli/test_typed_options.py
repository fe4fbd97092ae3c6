"""What a command line said, as the typed options of `run` and `chat`."""

import argparse
from collections.abc import Callable

import pytest

from acpella.cli.commands import chat, run
from acpella.cli.commands.run.options import RunOptions
from acpella.cli.options import ConversationOptions

Declare = Callable[[argparse.ArgumentParser], object]


def parsed(declare: Declare, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    declare(parser)
    return parser.parse_args(words)


def test_every_option_of_run_reaches_it() -> None:
    options = RunOptions.read(
        parsed(run.declare, "--write", "--mode", "plan", "--timeout", "3", "hello", "you")
    )
    assert options.write and options.mode == "plan" and options.timeout == 3.0
    assert options.prompt == ["hello", "you"]


def test_every_option_of_chat_reaches_it() -> None:
    assert ConversationOptions.read(parsed(chat.declare, "--yolo", "-s", "work")).session == "work"


@pytest.mark.parametrize("kind, declare", [(RunOptions, run.declare), (ConversationOptions, chat.declare)])
def test_an_option_without_a_field_is_an_error_and_not_ignored(
    kind: type[ConversationOptions], declare: Declare
) -> None:
    arguments = parsed(declare)
    arguments.colour = "red"
    with pytest.raises(TypeError, match="colour"):
        kind.read(arguments)


def test_a_field_without_an_option_is_an_error() -> None:
    arguments = parsed(run.declare)
    delattr(arguments, "image")
    with pytest.raises(TypeError, match="image"):
        RunOptions.read(arguments)


@pytest.mark.parametrize("output, frames", [("text", False), ("jsonl", True), ("json", False)])
def test_stdout_belongs_to_the_frames_where_they_are_wanted(output: str, frames: bool) -> None:
    assert RunOptions(prompt=[], image=[], option=[], mcp=[], output=output).shows_frames is frames


def test_the_time_limit_is_named_as_it_was_given() -> None:
    assert RunOptions(prompt=[], image=[], option=[], mcp=[], timeout=2.5).too_long == (
        "no end within 2.5 s (--timeout)"
    )
