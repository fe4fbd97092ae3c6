"""Examples beneath the help of each command."""

import argparse
from typing import cast

__all__ = ["EXAMPLES", "add_examples", "subcommands"]

EXAMPLES: dict[str, dict[str, str]] = {
    "acpella run": {
        'acpella run "what does this project do?"': "the built-in agent, or the first of your settings",
        'acpella run -a codex --write "fix the tests"': "a known agent, which may edit files",
        'acpella run -a hello.py "hi"': "an agent of your own",
        'git diff | acpella run -o simple --file - "review this"': "stdin goes along; the answer comes out",
        'acpella run -s fix "find the bug"': "a session that stays; `-c` goes on with the last one",
        'acpella run --timeout 300 "summarize the changes"': "a budget of five minutes",
    },
    "acpella chat": {
        "acpella chat": "the built-in agent, or the first of your settings",
        "acpella chat -a gemini --model flash": "a known agent with one of its models",
        "acpella chat -c": "go on with the last session of this repository",
        "acpella chat -s fix": "a session that stays when you leave",
    },
    "acpella web": {
        "acpella web": "the built-in agent, or the first of your settings",
        "acpella web -a codex": "a known agent, in this directory",
        "acpella web -- python agent.py": "any agent that speaks ACP on stdio",
        "acpella web wss://agents.example.com/acp": "an agent elsewhere; ACPELLA_TOKEN has the token",
        "acpella web --no-open": "print the link; it works once, within ten minutes",
    },
    "acpella demo": {"acpella demo": "needs neither a key nor the network"},
    "acpella check": {
        "acpella check -- python agent.py": "an agent of your own",
        "acpella check --fake-model opencode": "a known agent, with its tools, without a key",
        "acpella check --only cancel -- my-agent": "one topic alone",
        "acpella check wss://agents.example.com/acp": "an agent behind a URL",
        "acpella check talk.jsonl": "both sides of a recording",
        "acpella check --client --report client.txt": "what an editor starts in the agent's place",
    },
    "acpella status": {
        "acpella status": "the sessions of this repository",
        "acpella status --json": "the same for a program",
        "acpella status --stop": "end the background processes",
    },
    "acpella cancel": {
        "acpella cancel -s fix": "stop the running turn of the session `fix`",
        "acpella cancel -s fix --all": "and the prompts that wait there",
    },
    "acpella sessions": {
        "acpella sessions list": "the sessions of this repository",
        "acpella sessions show fix": "what was said",
        "acpella sessions export fix -o talk.json": "as one JSON document",
    },
    "acpella sessions list": {
        "acpella sessions list --all": "of every repository",
        "acpella sessions list -a codex": "also those that the agent itself knows",
    },
    "acpella sessions show": {"acpella sessions show fix": "the whole conversation"},
    "acpella sessions export": {"acpella sessions export fix -o talk.json": "write it to a file"},
    "acpella sessions import": {"acpella sessions import -a agent.py talk.json": "give it to another agent"},
    "acpella sessions fork": {"acpella sessions fork fix -s other": "a copy with the name `other`"},
    "acpella sessions delete": {"acpella sessions delete fix": "at its agent and here"},
    "acpella sessions close": {"acpella sessions close fix": "end its background process, keep the session"},
    "acpella agents": {
        "acpella agents list": "every agent that you can name",
        "acpella agents doctor codex": "find out why one does not start",
        "acpella agents add mine python agent.py": "give a command a name",
    },
    "acpella registry": {
        "acpella registry search google": "which agents are there?",
        "acpella registry install gemini": "shows what it is, asks once, installs and tries it",
        'acpella run -a gemini "what is this?"': "an installed agent is a name everywhere",
        "acpella registry update --all": "newer versions; what does not start is not used",
    },
    "acpella registry list": {
        "acpella registry list --installed": "what is here, and what has a newer version",
        "acpella registry list --json --search python": "for a program",
    },
    "acpella registry search": {"acpella registry search google": "in names, descriptions and authors"},
    "acpella registry show": {"acpella registry show goose": "who makes it, and from where it would come"},
    "acpella registry install": {
        "acpella registry install gemini": "asks once",
        "acpella registry install gemini --version 0.61.0": "this version, which updates leave alone",
        "acpella registry install gemini --yes --json": "in a script",
    },
    "acpella registry update": {
        "acpella registry update gemini": "the newest that the registry lists",
        "acpella registry update gemini --rollback": "back to the version that was used before",
    },
    "acpella registry remove": {"acpella registry remove gemini --logout": "log out, then delete it"},
    "acpella registry run": {"acpella registry run gemini": "what an editor starts; it speaks ACP on stdio"},
    "acpella registry login": {"acpella registry login gemini": "as the agent wants it"},
    "acpella registry check": {
        "acpella registry check -- python agent.py": "would the registry list your agent?",
        "acpella registry check ./my-agent": "the agent.json and icon.svg that you want to submit",
    },
    "acpella registry export": {
        "acpella registry export zed": "the lines for Zed's settings",
        "acpella registry export jetbrains gemini": "one agent, for ~/.jetbrains/acp.json",
    },
    "acpella agents list": {"acpella agents list": "the default first"},
    "acpella agents add": {
        "acpella agents add mine python agent.py": "into your settings",
        "acpella agents add --here local python agent.py": "into the settings of this project",
    },
    "acpella agents remove": {"acpella agents remove mine": "from the file that names it"},
    "acpella agents trust": {
        "acpella agents trust": "show the settings of this project, and ask",
        "acpella agents trust --yes": "agree without a question",
    },
    "acpella agents doctor": {
        "acpella agents doctor agent.py": "does it start, answer, need a login?",
        'acpella agents doctor "python agent.py"': "the very command that your editor starts",
    },
    "acpella permissions": {
        "acpella permissions list": "what you answered with always or never",
        "acpella permissions revoke codex": "be asked again by this agent",
    },
    "acpella permissions list": {"acpella permissions list -a codex": "for one agent"},
    "acpella permissions revoke": {
        'acpella permissions revoke codex "git status"': "one answer",
        "acpella permissions revoke codex": "all of this agent's",
    },
    "acpella agent": {
        "acpella agent": "what an editor starts",
        "acpella agent --mode read-only --model offline": "without writes, without a key",
    },
    "acpella connect": {
        "acpella connect wss://agents.example.com/acp": "what an editor starts; ACPELLA_TOKEN has the token",
    },
    "acpella inspect": {
        "acpella inspect talk.jsonl": "a page with every message of a recording",
        "acpella inspect -- opencode acp": "as the agent's command in an editor's settings",
        "acpella inspect": "a page on what runs there now",
        "acpella inspect talk.jsonl --findings": "what is wrong; exit code 1 if anything is",
        "acpella inspect talk.jsonl --rows --filter 'method:fs/* ms>500'": "slow answers about files",
        "acpella inspect talk.jsonl --html talk.html": "one file that opens anywhere",
    },
    "acpella record show": {
        "acpella record show talk.jsonl": "the conversation",
        "acpella record show --frames talk.jsonl": "a line for each frame",
    },
    "acpella record html": {"acpella record html talk.jsonl": "one file that opens in any browser"},
    "acpella record scan": {"acpella record scan talk.jsonl": "before you share it"},
    "acpella record diff": {"acpella record diff before.jsonl after.jsonl": "what changed"},
    "acpella record convert": {
        "acpella record convert talk.jsonl --to mermaid": "a diagram for a page",
        "acpella record convert export.json -o talk.jsonl": "from another tool; its format is guessed",
    },
    "acpella tokens add": {
        "acpella tokens add tokens.txt alice": "a new token, shown this once",
        "acpella tokens add tokens.txt ci --scopes prompt --until 2030-12-31": "for prompts, until then",
    },
    "acpella tokens list": {"acpella tokens list tokens.txt": "users, scopes and how their hashes begin"},
    "acpella tokens remove": {
        "acpella tokens remove tokens.txt alice": "all tokens of a user",
        "acpella tokens remove tokens.txt 3f9a01bc": "one token, by its hash",
    },
    "acpella tokens hash": {"acpella tokens hash tokens.txt": "replace tokens in clear text by their hashes"},
    "acpella cluster": {"acpella cluster status": "the nodes, their sessions and turns"},
    "acpella cluster status": {
        "acpella cluster status": "of the store that ACPELLA_STORE names",
        "acpella cluster status --json env:STORE_URL": "for a program; the URL is in that variable",
    },
    "acpella store": {
        "acpella store check sessions.db": "read every session",
        "acpella store copy sessions.db env:ACPELLA_STORE": "from a file to PostgreSQL",
    },
    "acpella store migrate": {
        "acpella store migrate env:ACPELLA_STORE": "make the tables before the servers start",
    },
    "acpella store copy": {
        "acpella store copy sessions.db env:ACPELLA_STORE": "from a file to PostgreSQL; again to go on",
        "acpella store copy env:ACPELLA_STORE copy.db": "and back, into a file",
    },
    "acpella store check": {"acpella store check sessions.db": "read every session"},
    "acpella completion": {
        "acpella completion bash > ~/.local/share/bash-completion/completions/acpella": "for bash",
        "acpella completion zsh > ~/.zfunc/_acpella": "for zsh, with ~/.zfunc in fpath",
        "acpella completion fish > ~/.config/fish/completions/acpella.fish": "for fish",
    },
}
"""Commands by the program name of their parser, each with what it does. Some commands bring their own."""


def add_examples(parser: argparse.ArgumentParser) -> None:
    """Put the examples of a command, and of its subcommands, beneath its help."""
    examples = EXAMPLES.get(parser.prog)
    if examples:
        lines = "\n".join(f"  {command}\n      {meaning}" for command, meaning in examples.items())
        parser.epilog = f"examples:\n{lines}" + (f"\n\n{parser.epilog}" if parser.epilog else "")
    for child in subcommands(parser).values():
        child.formatter_class = parser.formatter_class
        add_examples(child)


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of `acpella agents list` and the like, by name."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]: argparse has no other way to them
        choices: object = action.choices
        if isinstance(choices, dict):  # other options have tuples, if any
            return cast("dict[str, argparse.ArgumentParser]", choices)
    return {}
