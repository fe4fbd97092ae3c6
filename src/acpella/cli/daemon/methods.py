"""The methods between a daemon and its clients that ACP does not have."""

__all__ = ["CANCEL", "CANCELLED", "NOISE", "QUEUE", "QUEUED", "STATUS", "STDERR", "STOP", "WAIT"]

STATUS = "_daemon/status"
"""A request: who has the session, what runs and what waits."""

CANCEL = "_daemon/cancel"
"""A request of another shell: end the prompt that runs, or all of them."""

STOP = "_daemon/stop"
"""A request: end, with the agent."""

QUEUE = "_daemon/queue"
"""A request: run a prompt that nobody waits for."""

WAIT = "_daemon/wait"
"""A request to a command that has the session to itself: its end is the answer."""

QUEUED = "_daemon/queued"
"""Tells a client how many prompts are before its own."""

CANCELLED = "_daemon/cancelled"
"""Tells a client that another one has cancelled its prompt."""

NOISE = "_daemon/noise"
"""Tells what the agent printed that is not a message."""

STDERR = "_daemon/stderr"
"""Tells what the agent wrote to its standard error."""
