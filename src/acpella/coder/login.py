"""The login of the built-in agent: an API key, typed in a terminal that any editor can open."""

import getpass
import sys

from acpella.agent import Agent, TerminalLogin

from .keys import forget_keys, keys_file, store_key
from .models.model_names import key_variables

__all__ = ["LOGIN", "ask_for_key", "offer_login"]

LOGIN = TerminalLogin(
    "api-key",
    "Store an API key",
    ["--login"],
    description="Asks for the key of a model provider in the terminal, and keeps it for this user alone",
)


def offer_login(agent: Agent) -> None:
    """Let editors log out, too. Nobody has to log in: the offline model needs no key."""

    @agent.is_logged_in
    async def logged_in() -> bool:
        return True

    @agent.on_logout
    async def log_out() -> None:
        forget_keys()


def ask_for_key() -> int:
    """Ask which provider and which key, and store it; returns the exit code."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        _say("the login asks for a key, and needs a terminal for that")
        return 2
    providers = list(key_variables().items())
    _say("Which provider is the key of?")
    for number, (title, variable) in enumerate(providers, 1):
        _say(f"  {number}  {title} ({variable})")
    try:
        typed = input("number: ").strip()
        if not (typed.isdecimal() and 1 <= int(typed) <= len(providers)):
            _say("nothing was stored")
            return 2
        title, variable = providers[int(typed) - 1]
        key = getpass.getpass(f"{title} key, which is not shown: ").strip()
    except (EOFError, KeyboardInterrupt):
        _say("\nnothing was stored")
        return 130
    if not key or not key.isascii() or not key.isprintable():
        _say("that is not a key; nothing was stored")
        return 2
    store_key(variable, key)
    _say(f"stored in {keys_file()}, for you alone; {variable} of the environment comes before it")
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201 - a conversation in a terminal
