"""Looks at conversations, recorded or running: rows, times, and what is wrong."""

from .filters import Filter, FilterError
from .rows import Row, Rows
from .spans import Span, Spans
from .stats import Stats

__all__ = ["Filter", "FilterError", "Row", "Rows", "Span", "Spans", "Stats"]
