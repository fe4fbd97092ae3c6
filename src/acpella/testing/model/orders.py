"""What the fake model does: the orders in a prompt, one after the other."""

import re

from .prompts import ModelAnswer, ModelPrompt
from .tools import TOOL_ORDERS, use_tool

__all__ = ["follow_orders"]

_ORDER = re.compile(
    r"^[ \t]*!(say|think|read|write|edit|run|plan|call|slow|fail)\b[ \t]*(.*?)[ \t]*$", re.MULTILINE
)

_SLOW_SECONDS = 60.0
_QUOTED = 200
"""How many characters of a prompt or a result the model repeats."""


def follow_orders(prompt: ModelPrompt) -> ModelAnswer:
    """Carry out the next order of a prompt: at most one tool for each request.

    Text and thoughts that precede a tool are sent together with its use. The number of tool results since
    the prompt shows how many orders have been carried out.
    """
    orders = _ORDER.findall(prompt.said)
    if not orders and not prompt.results:
        return ModelAnswer(f"You said: {prompt.said[-_QUOTED:]}")
    used, thought, quote = 0, "", ""
    for order, rest in orders:
        if order in TOOL_ORDERS:
            if used == len(prompt.results):
                return _use(prompt, order, rest, thought=thought, text=quote)
            used, thought, quote = used + 1, "", ""
        elif used < len(prompt.results):
            continue  # this was said before a tool that has returned since
        elif order == "think":
            thought += rest or "Let me think."
        elif order == "say":
            quote += rest.replace("\\n", "\n") + "\n"
        elif order == "slow":
            return ModelAnswer(quote, thought, seconds=_number(rest, _SLOW_SECONDS))
        else:
            status, _, text = rest.partition(" ")
            return ModelAnswer(
                text or "The model failed, as it was told to.", status=int(_number(status, 500))
            )
    if not quote and prompt.results:
        quote = f"The tool said: {prompt.results[-1].strip()[:_QUOTED]}"
    return ModelAnswer(quote.strip() or "Done.", thought)


def _use(prompt: ModelPrompt, order: str, rest: str, *, thought: str, text: str) -> ModelAnswer:
    use = use_tool(order, rest, prompt.tools)
    if use is None:
        names = ", ".join(tool.name for tool in prompt.tools) or "none"
        return ModelAnswer(f"The agent offers no tool to {order} with. Its tools: {names}", thought)
    return ModelAnswer(text.strip(), thought, use)


def _number(text: str, default: float) -> float:
    try:
        return float(text)
    except ValueError:
        return default
