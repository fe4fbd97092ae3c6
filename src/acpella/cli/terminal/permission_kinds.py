"""What an option of a permission question does, where its name does not say so."""

from acpella.schema import PermissionOptionKind

from .reveal import reveal

__all__ = ["kind_note"]

_NAMES: dict[PermissionOptionKind, str] = {
    "allow_once": """
        accept
        allow
        allow once
        approve
        approve once
        ok
        proceed
        yes
        yes, allow once
        yes, just this once
        yes, proceed
    """,
    "allow_always": """
        allow always
        allow and don't ask again
        allow for all future sessions
        allow for session
        allow for this conversation
        allow for this file in all future sessions
        allow for this session
        allow for this task
        allow for this thread
        allow this command for all future sessions
        allow tool for all future sessions
        allow tool for this session
        always
        always allow
        always allow in this project
        approve always
        approve for this session
        yes, allow all edits during this session
        yes, always allow
        yes, and allow this host for this conversation
        yes, and don't ask again for these files
        yes, and don't ask again for this command in this session
        yes, during this session
    """,
    "reject_once": """
        cancel
        decline
        deny
        deny once
        no
        no, and tell claude what to do differently
        no, and tell codex what to do differently
        no, continue without running it
        no, provide feedback
        reject
        reject once
    """,
    "reject_always": """
        always deny
        always reject
        always reject in this project
        deny always
        never
        never allow
        reject always
    """,
}
_KNOWN = {(line.strip(), kind) for kind, names in _NAMES.items() for line in names.strip().splitlines()}
"""Names that known agents give their options, each for what it does; no others are believed."""

_WORDS: dict[str, str] = {
    "allow_once": "allows it once",
    "allow_always": "allows it from now on",
    "reject_once": "refuses it once",
    "reject_always": "refuses it from now on",
}


def kind_note(name: str, kind: str) -> str:
    """What the kind of an option means, unless its name is known to say the same.

    Looking for words such as "allow" does not do: a name may deny them, or write them in other letters.
    """
    if name.isascii() and (name.lower(), kind) in _KNOWN:
        return ""
    return _WORDS.get(kind) or f"acpella does not know what {reveal(kind)!r} does"
