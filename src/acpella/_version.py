"""The version, for those below the root, which imports them all for type checkers."""

__all__ = ["__version__"]

__version__ = "0.1.0"
