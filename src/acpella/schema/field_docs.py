"""The sentence that stands below each field of a type, for those who show messages to people."""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from functools import cache

__all__ = ["field_docs"]


@cache
def field_docs(kind: type) -> Mapping[str, str]:
    """What each field of a type means, by its name in Python. Fields without a sentence are left out.

    Python does not keep these sentences, so they are read from the source; without one, there are none.
    """
    sentences: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        sentences.update(_docs_of(base))
    return sentences


def _docs_of(kind: type) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):  # no source here, or not the one that was loaded
        return {}
    definition = tree.body[0]
    assert isinstance(definition, ast.ClassDef)
    sentences: dict[str, str] = {}
    for statement, below in zip(definition.body, definition.body[1:], strict=False):
        match statement, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                sentences[name] = " ".join(text.split())
            case _:
                pass
    return sentences
