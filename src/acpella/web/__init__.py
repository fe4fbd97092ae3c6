"""The page that a server offers: its files, how people log in, and agents that several pages share."""

from .page import Page

__all__ = ["Page"]
