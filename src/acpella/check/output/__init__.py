"""Reports for people and for other programs."""

from .badge import badge
from .json import json_report
from .junit import junit
from .markdown import markdown
from .text import text

__all__ = ["badge", "json_report", "junit", "markdown", "text"]
