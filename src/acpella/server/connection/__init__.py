"""Hosted connections: one agent each, and the numbered streams on which its client hears it. No HTTP here."""
