"""`acpella completion`: a script that completes commands and options in a shell.

The script holds every command and option, so that pressing Tab starts no Python.
"""

import argparse
import sys
from dataclasses import dataclass

from acpella.cli import COMMANDS, command_parser
from acpella.cli.examples import subcommands

__all__ = ["Word", "declare", "known_words", "run"]


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = "Print a script for your shell that completes the commands and options of acpella."
    parser.add_argument("shell", choices=sorted(SHELLS), help="the shell that you use")


def run(arguments: argparse.Namespace) -> int:
    sys.stdout.write(SHELLS[arguments.shell](known_words()))
    return 0


@dataclass(frozen=True, slots=True)
class Word:
    """Something that can be typed at a place of the command line."""

    text: str
    meaning: str = ""


def known_words() -> dict[str, list[Word]]:
    """What can follow each beginning of a command line: `""`, `run`, `agents`, `agents add` …"""
    places: dict[str, list[Word]] = {
        "": [Word(name, sentence) for name, sentence in COMMANDS.items()]
        + [Word("--help", "show the help"), Word("--version", "show the version")]
    }
    for name in COMMANDS:
        _collect(command_parser(name), name, places)
    return places


def _collect(parser: argparse.ArgumentParser, place: str, places: dict[str, list[Word]]) -> None:
    words: list[Word] = []
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]: argparse has no other way to its options
        if action.help == argparse.SUPPRESS:
            continue
        meaning = " ".join((action.help or "").replace("%%", "%").split())
        words += [Word(option, meaning) for option in action.option_strings if option.startswith("--")]
        if not action.option_strings and action.choices is not None and not isinstance(action.choices, dict):
            words += [Word(str(choice)) for choice in action.choices]
    for name, child in subcommands(parser).items():
        words.append(Word(name, (child.description or "").rstrip(".")))
        _collect(child, f"{place} {name}", places)
    places[place] = words


def _bash(places: dict[str, list[Word]]) -> str:
    cases = "\n".join(
        f"        {_quoted(place)}) words={_quoted(' '.join(word.text for word in words))} ;;"
        for place, words in places.items()
    )
    nested = "|".join(sorted({place.split()[0] for place in places if " " in place}))
    return f"""\
# Completes acpella in bash. Made by `acpella completion bash`.
_acpella() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" place="" words=""
    if [ "$COMP_CWORD" -gt 1 ]; then
        place="${{COMP_WORDS[1]}}"
        case "$place" in
            {nested}) if [ "$COMP_CWORD" -gt 2 ]; then place="$place ${{COMP_WORDS[2]}}"; fi ;;
        esac
    fi
    case "$place" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _acpella acpella
"""


def _zsh(places: dict[str, list[Word]]) -> str:
    cases = "\n".join(
        f"        {_quoted(place)}) words=({' '.join(_quoted(_described(word)) for word in words)}) ;;"
        for place, words in places.items()
    )
    nested = "|".join(sorted({place.split()[0] for place in places if " " in place}))
    return f"""\
#compdef acpella
# Completes acpella in zsh. Made by `acpella completion zsh`.
_acpella() {{
    local place=""
    local -a words_here=("${{words[@]}}") words
    if (( CURRENT > 2 )); then
        place="$words_here[2]"
        case "$place" in
            {nested}) if (( CURRENT > 3 )); then place="$place $words_here[3]"; fi ;;
        esac
    fi
    case "$place" in
{cases}
    esac
    _describe 'acpella' words || _files
    [[ "$PREFIX" == -* ]] || _files
}}
if [ "$funcstack[1]" = "_acpella" ]; then _acpella "$@"; else compdef _acpella acpella; fi
"""


def _fish(places: dict[str, list[Word]]) -> str:
    lines = ["# Completes acpella in fish. Made by `acpella completion fish`."]
    for place, words in places.items():
        if place:
            seen = " ".join(f"; and __fish_seen_subcommand_from {word}" for word in place.split()[1:])
            condition = f"__fish_seen_subcommand_from {place.split()[0]}{seen}"
        else:
            condition = "__fish_use_subcommand"
        for word in words:
            what = f"-l {word.text[2:]}" if word.text.startswith("--") else f"-a {_quoted(word.text)}"
            lines.append(f"complete -c acpella -n {_quoted(condition)} {what} -d {_quoted(word.meaning)}")
    return "\n".join(lines) + "\n"


def _described(word: Word) -> str:
    return f"{word.text}:{word.meaning}" if word.meaning else word.text


def _quoted(text: str) -> str:
    """In single quotes, as all three shells read them."""
    return "'" + text.replace("\\", " ").replace("'", "’") + "'"


SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
