"""What an option of a permission question does, where its name does not say so."""

import re

from acpella.schema import PermissionOptionKind

__all__ = ["kind_note"]

_ALLOWS = frozenset(
    "accept agree allow allowed approve confirm continue go grant ok okay permit proceed run yes".split()
)
_REJECTS = frozenset(
    "abort cancel decline deny disallow don't keep never no not refuse reject skip stop without".split()
)
_LASTS = frozenset(
    "again all always any auto conversation every forever never permanently project remember session task "
    "thread".split()
)

_WORDS = {
    "allow_once": "allows it once",
    "allow_always": "allows it always",
    "reject_once": "refuses it once",
    "reject_always": "refuses it always",
}


def kind_note(name: str, kind: PermissionOptionKind) -> str:
    """What the kind of an option means, unless the name says the same."""
    words = set(re.findall(r"[a-z]+(?:'[a-z]+)?", name.lower().replace("\u2019", "'")))
    allows, rejects, lasts = (bool(words & verbs) for verbs in (_ALLOWS, _REJECTS, _LASTS))
    agrees = allows and not rejects if kind.startswith("allow") else rejects and not allows
    if agrees and lasts == kind.endswith("_always"):
        return ""
    return _WORDS[kind]
