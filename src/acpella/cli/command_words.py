"""Words of a command line that belong to another program."""

from collections.abc import Sequence

__all__ = ["split_command"]


def split_command(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options before `--`, and the command behind it; that is empty without one."""
    options = list(words)
    if "--" not in options:
        return options, []
    cut = options.index("--")
    return options[:cut], options[cut + 1 :]
