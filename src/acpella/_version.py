"""The version, for modules that cannot import the package root, which imports them for type checkers."""

__all__ = ["__version__"]

__version__ = "0.1.0"
