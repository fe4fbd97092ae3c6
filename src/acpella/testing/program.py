"""`python -m acpella.testing.program module:name`: an agent object as a process on stdio."""

import sys
from typing import Any

__all__ = ["load_agent", "main"]


def load_agent(reference: str) -> Any:
    """The agent that `module:name` or `file.py:name` means: one of ours, or of a framework.

    Raises:
        ImportError: there is no such file or module, or it cannot be imported.
        ValueError: the module has no such object, or the object is not an agent.
    """
    from acpella.adapters.targets import adapt_target, load_target

    value = load_target(reference)
    return value if callable(getattr(value, "serve_on", None)) else adapt_target(reference)


def main() -> None:
    """Run the agent that the first argument names."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m acpella.testing.program MODULE:NAME")
    try:
        agent = load_agent(sys.argv[1])
    except (ImportError, ValueError) as error:
        sys.exit(str(error))
    agent.run()


if __name__ == "__main__":
    main()
