"""The variables that the built-in agent reads."""

from acpella._variables import Variable

__all__ = ["variables"]


def variables() -> list[Variable]:
    """See `acpella._variables`."""
    return [
        Variable("ACPELLA_MODEL", "text", "", "The model of the built-in agent, such as `ollama:qwen3`"),
        Variable(
            "ACPELLA_MODELS", "list", "", "The models that the built-in agent may use, by name or pattern"
        ),
        Variable(
            "ACPELLA_CONTEXT_WINDOW",
            "number",
            "",
            "How many tokens fit into a model that acpella does not know",
        ),
        Variable("ACPELLA_COMPATIBLE_BASE_URL", "URL", "", "The URL of a server with OpenAI's interface"),
        Variable("ACPELLA_COMPATIBLE_API_KEY", "secret", "", "The key for that server"),
        Variable(
            "ACPELLA_FETCH_PRIVATE", "1 or 0", "0", "Let the built-in agent fetch pages from private networks"
        ),
        Variable("ACPELLA_SANDBOX_ENV", "list", "", "More variables that sandboxed commands get, by name"),
        Variable("ACPELLA_SANDBOX_READ", "paths", "", "More directories that sandboxed commands may read"),
    ]
