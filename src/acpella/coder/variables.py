"""The variables that the built-in agent reads."""

from acpella._variables import Variable

__all__ = ["variables"]


def variables() -> list[Variable]:
    """See `acpella._variables`."""
    return [
        Variable("ACPELLA_MODEL", "text", "", "The model of the built-in agent, such as `ollama:qwen3`"),
        Variable("ACPELLA_MODELS", "list", "", "The models that it may use, by name or pattern"),
        Variable("ACPELLA_CONTEXT_WINDOW", "number", "", "Tokens that fit into an unknown model"),
        Variable("ACPELLA_COMPATIBLE_BASE_URL", "URL", "", "Where a server with OpenAI's interface is"),
        Variable("ACPELLA_COMPATIBLE_API_KEY", "secret", "", "The key for that server"),
        Variable("ACPELLA_FETCH_PRIVATE", "1 or 0", "0", "Whether it may fetch pages of private networks"),
        Variable("ACPELLA_SANDBOX_READ", "paths", "", "Directories that confined commands may read, too"),
    ]
