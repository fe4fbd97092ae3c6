"""A model provider on this machine that does what the prompt says: real agents run without a key.

`python -m acpella.testing.model [PORT]` starts one, prints its URL and serves until it is interrupted.
"""

from .prompts import ModelAnswer, ModelPrompt, OfferedTool, ToolUse
from .server import FakeModel, ModelRequest

__all__ = ["FakeModel", "ModelAnswer", "ModelPrompt", "ModelRequest", "OfferedTool", "ToolUse"]
