"""Agents that several pages share: one log for each session, from which every page reads."""
