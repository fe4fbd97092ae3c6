"""Agents of the public ACP registry: its index, and installing what it lists.

`acpella registry` is the way to use it; an installed agent is a name that `acpella.connect` takes.
"""
