"""An agent that wants a login, of each kind."""

import os
import sys
from pathlib import Path

from acpella import Agent
from acpella.agent import EnvLogin, Login, TerminalLogin

MARK = Path("logged-in")


async def log_in() -> None:
    MARK.write_text("yes", encoding="utf-8")  # noqa: ASYNC240 - a test's agent


agent = Agent(
    "login",
    version="1.0",
    logins=[
        Login("web", "On the web", log_in),
        TerminalLogin("term", "In the terminal", args=["--login"], env={"HOW": "by hand"}),
        EnvLogin("key", "With a key", ["THE_KEY"]),
    ],
)


@agent.is_logged_in
def logged_in() -> bool:
    return MARK.exists() or bool(os.environ.get("THE_KEY"))


@agent.on_prompt
async def reply(turn):
    yield f"You are in. Key: {len(os.environ.get('THE_KEY', ''))}"


if __name__ == "__main__":
    if "--login" in sys.argv:
        name = input(f"Your name ({os.environ['HOW']}): ")
        MARK.write_text(name, encoding="utf-8")
    else:
        agent.run()
