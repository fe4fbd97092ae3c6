"""What of a prompt an agent takes, whose handler answers it, and what it is called."""

import base64
from typing import Any

import pytest

from acpella.agent.definition import Command, Definition
from acpella.agent.prompting import accepted_content, title_of
from acpella.errors import InvalidParams
from acpella.schema import AudioContent, ContentBlock, ImageContent, TextContent, Unknown


def image(size: int = 3, mime_type: str = "image/png") -> ImageContent:
    return ImageContent(data=base64.b64encode(b"x" * size).decode(), mime_type=mime_type)


SOUND = AudioContent(data="", mime_type="audio/wav")


@pytest.mark.parametrize(
    "block, says",
    [
        (image(), "this agent takes no images"),
        (SOUND, "this agent takes no audio"),
        (Unknown("smell", b'{"type":"smell"}'), "no content of type 'smell'"),
    ],
)
def test_what_was_not_offered_is_refused(block: ContentBlock, says: str) -> None:
    with pytest.raises(InvalidParams, match=says):
        accepted_content(Definition("plain"), [block])


def test_what_is_too_large_or_of_an_odd_type_is_left_out_and_told() -> None:
    """C12."""
    definition = Definition("seeing", images=True, audio=True, settings={"max_image_bytes": 10})
    text = TextContent(text="look")
    prompt: list[ContentBlock] = [text, image(10), image(11), image(3, "image/tiff"), SOUND]
    taken, skipped = accepted_content(definition, prompt)
    assert taken == [text, prompt[1], SOUND]
    assert skipped == [
        "image/png of more than 10 bytes was left out",
        "an image of type image/tiff was left out",
    ]


def by_command(turn: Any) -> None: ...


def by_prompt(turn: Any) -> None: ...


@pytest.mark.parametrize(
    "text, handler, command, argument",
    [
        ("/help", by_command, "help", ""),
        ("  /help me  please ", by_command, "help", "me  please"),
        ("/helpme", by_prompt, None, ""),
        ("/ help", by_prompt, None, ""),
        ("help", by_prompt, None, ""),
    ],
)
def test_a_slash_command_has_its_own_handler(
    text: str, handler: object, command: str | None, argument: str
) -> None:
    definition = Definition("commanded")
    definition.prompt_handler = by_prompt
    definition.commands["help"] = Command("help", "Helps", None, by_command)
    assert definition.handler_for([TextContent(text=text)]) == (handler, command, argument)


def test_names_are_declared_once() -> None:
    with pytest.raises(ValueError, match="declared twice: mode a"):
        Definition("twice", modes=["a", "a"])


@pytest.mark.parametrize(
    "text, title",
    [
        ("", None),
        ("\n  \n", None),
        ("\n  Fix it \nnow", "Fix it"),
        ("x" * 61, "x" * 59 + "…"),
        ("x" * 60, "x" * 60),
    ],
)
def test_a_session_is_called_after_its_first_prompt(text: str, title: str | None) -> None:
    assert title_of(text) == title
