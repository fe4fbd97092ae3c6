"""What is known of models by their names. One that is not known works too, with careful assumptions."""

import re
from typing import Literal

__all__ = ["UNKNOWN_WINDOW", "accepts", "context_window"]

UNKNOWN_WINDOW = 32_768
"""Tokens assumed of a model that nothing is known of: compacting early is better than being cut off."""

# The first that matches counts: what the family offers to everybody, not what it offers on request.
_WINDOWS = [
    (r"claude", 200_000),
    (r"gpt-5|codex", 272_000),
    (r"gpt-4\.1", 1_000_000),
    (r"gpt-4o|gpt-4-turbo|chatgpt|gpt-oss", 128_000),
    (r"\bo[134](?:$|-)", 200_000),
    (r"gpt-4", 8_192),
    (r"gpt-3\.5", 16_385),
    (r"gemini", 1_000_000),
    (r"gemma-?3|gemma-?4", 128_000),
    (r"gemma", 8_192),
    (r"llama-?4|llama-?3\.[123]", 128_000),
    (r"llama", 8_192),
    (r"qwen-?3", 128_000),
    (
        r"deepseek|kimi|glm|grok|minimax|mistral-(?:large|medium|small)|devstral|codestral|ministral|magistral",
        128_000,
    ),
    (r"command-(?:r|a)|granite|phi-?4-mini|nemotron", 128_000),
    (r"openrouter/auto", 128_000),
]

_IMAGES = re.compile(
    r"claude|gpt-5|gpt-4o|gpt-4\.1|gpt-4-turbo|chatgpt|\bo[134](?:$|-(?!mini))|o4-mini|gemini|gemma-?[34]|llava"
    r"|pixtral|vision|-vl\b|\bvl\b|vl:|llama-?4|minicpm-v|qwen2\.5vl|qwen3-?vl|mistral-small|moondream"
)
_SOUNDS = re.compile(r"gpt-4o(?:-mini)?-audio|gpt-audio|gemini")


def context_window(model: str) -> int:
    """Tokens that fit, as far as the name tells."""
    name = model.lower()
    return next((size for pattern, size in _WINDOWS if re.search(pattern, name)), UNKNOWN_WINDOW)


def accepts(model: str) -> frozenset[Literal["image", "audio"]]:
    """What it takes besides text. A model that is not known to see gets images described."""
    name = model.lower()
    kinds: set[Literal["image", "audio"]] = set()
    if _IMAGES.search(name):
        kinds.add("image")
    if _SOUNDS.search(name):
        kinds.add("audio")
    return frozenset(kinds)
