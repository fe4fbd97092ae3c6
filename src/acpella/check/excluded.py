"""Rules of docs/reference/protocol-rules.md that no requirement covers, and why.

A test makes sure that each rule of messages and transports is named by a requirement or here.
"""

__all__ = ["EXCLUDED"]

_MAY = "permits something; nobody can break it"
_INSIDE = "about what happens inside a program or on its screen, which cannot be seen from outside"
_USER = "about what a user sees, which cannot be seen on the wire"
_MEANING = "says what something means; a message cannot break it"
_DRAFT = "about a draft that no peer could be found for"
_REMOTE = "about the draft transports; a server of ours is tested for it, others are not yet checked"
_OURS = "our own choice, not a rule of the protocol"

EXCLUDED: dict[str, str] = {
    "R-005": _MAY,
    "R-006": "the end of a connection is seen by the program that starts the agent alone",
    "R-007": "the transport that is checked is the one that was named",
    "R-022": "names of fields are checked with the schema of each message",
    "R-029": _INSIDE,
    "R-031": _INSIDE,
    "R-040": "each capability has a requirement of its own",
    "R-052": _INSIDE,
    "R-104": "only one version exists that is not a draft",
    "R-123": _USER,
    "R-124": _INSIDE,
    "R-125": _INSIDE,
    "R-126": _MEANING,
    "R-144": _MAY,
    "R-147": _INSIDE,
    "R-149": _INSIDE,
    "R-151": _INSIDE,
    "R-155": _MAY,
    "R-163": _INSIDE,
    "R-176": _MAY,
    "R-203": _MAY,
    "R-207": _USER,
    "R-214": _MAY,
    "R-222": _INSIDE,
    "R-223": _MAY,
    "R-247": _USER,
    "R-248": _USER,
    "R-262": _MEANING,
    "R-272": "the same as R-208, which has a requirement",
    "R-306": _MEANING,
    "R-321": "unsaved changes exist in an editor alone",
    "R-323": _OURS,
    "R-346": _MEANING,
    "R-347": _USER,
    "R-362": _USER,
    "R-363": "a secret cannot be told from another word by its name",
    "R-364": _USER,
    "R-366": _INSIDE,
    "R-371": _USER,
    "R-372": _USER,
    "R-400": _DRAFT,
    "R-401": _DRAFT,
    "R-402": _DRAFT,
    "R-420": _DRAFT,
    "R-421": _DRAFT,
    "R-430": "about proxies, which are neither agents nor clients",
    "R-431": "about proxies, which are neither agents nor clients",
    "R-440": "withdrawn from the protocol",
    "T-001": "the transport itself",
    "T-002": "the same as R-002",
    "T-003": "the same as R-003 and R-004",
    "T-005": "the same as R-016",
    "T-006": "the same as R-012",
    "T-007": _INSIDE,
    "T-008": "the same as R-013",
    **{f"T-{number:03}": _REMOTE for number in (*range(10, 13), *range(20, 25), 30, *range(40, 45))},
    **{f"T-{number:03}": _REMOTE for number in (*range(50, 54), *range(60, 68), *range(70, 74))},
    **{f"T-{number:03}": _REMOTE for number in (*range(80, 86), *range(90, 93))},
}
