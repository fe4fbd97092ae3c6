"""The page that a server offers: its files, how people log in, and agents that several pages share."""

from .page import OtherAgent, Page, records_of

__all__ = ["OtherAgent", "Page", "records_of"]
