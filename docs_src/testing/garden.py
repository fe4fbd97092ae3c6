import sys

import acpella
import acpella.sync


def plant(agent: str | list[str], fruit: str) -> str:
    """Let an agent plant something; what it says about that."""
    try:
        with acpella.sync.connect(agent, permissions="allow-all") as gardener:
            return gardener.new_session(".").prompt(fruit).text
    except acpella.AcpellaError as error:
        return f"No luck: {error}"


if __name__ == "__main__":
    print(plant(sys.argv[1:-1], sys.argv[-1]))
