"""Counts what happens, and reports it in the text format of Prometheus."""

from collections import defaultdict
from collections.abc import Callable

__all__ = ["Metrics"]

_HELP = {
    "acpella_connections": ("gauge", "Connections now, by whether their client is there."),
    "acpella_connections_total": ("counter", "Connections that were opened, by transport."),
    "acpella_connections_closed_total": ("counter", "Connections that ended, by reason."),
    "acpella_turns": ("gauge", "Turns that are running."),
    "acpella_streams": ("gauge", "Streams and sockets that are open."),
    "acpella_messages_total": ("counter", "Messages, by direction."),
    "acpella_message_bytes_total": ("counter", "Bytes of messages, by direction."),
    "acpella_requests_total": ("counter", "HTTP requests and upgrades, by method and status."),
    "acpella_auth_failures_total": ("counter", "Requests without the right credentials."),
    "acpella_refused_total": ("counter", "Requests that were refused, by reason."),
    "acpella_resumed_total": ("counter", "Clients that came back to their connection, by outcome."),
    "acpella_noise_total": ("counter", "Output of agents that was not a message."),
    "acpella_buffered_bytes": ("gauge", "Bytes that wait for clients."),
    "acpella_cluster_connections": ("gauge", "Connections whose home this node is, for other nodes, too."),
    "acpella_cluster_gateway_streams": ("gauge", "Streams read here whose connection is at another node."),
    "acpella_cluster_lease_seconds": ("gauge", "Seconds until this node must renew its lease."),
    "acpella_cluster_leases_lost_total": ("counter", "Times that the lease was not renewed in time."),
    "acpella_cluster_takeovers_total": ("counter", "Connections that were taken over from other nodes."),
    "acpella_cluster_commands_total": ("counter", "Commands of other nodes' clients that were run here."),
    "acpella_cluster_command_wait_seconds_total": ("counter", "Seconds that those commands had waited."),
    "acpella_cluster_commands_waiting": ("gauge", "Commands that no node has begun, as of the last second."),
    "acpella_cluster_fanout_total": ("counter", "Entries of other nodes' agents that were read here live."),
    "acpella_cluster_fanout_seconds_total": ("counter", "Seconds from the agent to here of those entries."),
    "acpella_cluster_appends_total": ("counter", "Commits of what connections said."),
    "acpella_cluster_append_seconds_total": ("counter", "Seconds that those commits took."),
}


class Metrics:
    """Counters by name and one label; gauges are asked for when somebody looks."""

    def __init__(self) -> None:
        self._counters: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._gauges: dict[tuple[str, str], Callable[[], float]] = {}

    def add(self, name: str, labels: str = "", amount: float = 1) -> None:
        """Count. `labels` as Prometheus writes them: `direction="in"`; values must be harmless words."""
        self._counters[name, labels] += amount

    def gauge(self, name: str, value: Callable[[], float], labels: str = "") -> None:
        """Report what `value` returns whenever the metrics are read."""
        self._gauges[name, labels] = value

    def value(self, name: str, labels: str = "") -> float:
        """What a counter or gauge says now."""
        gauge = self._gauges.get((name, labels))
        return self._counters.get((name, labels), 0) if gauge is None else gauge()

    def text(self) -> str:
        """All of it for Prometheus."""
        rows: defaultdict[str, list[str]] = defaultdict(list)
        for (name, labels), value in self._counters.items():
            rows[name].append(_row(name, labels, value))
        for (name, labels), gauge in self._gauges.items():
            rows[name].append(_row(name, labels, gauge()))
        lines: list[str] = []
        for name, (kind, what) in _HELP.items():
            lines += [f"# HELP {name} {what}", f"# TYPE {name} {kind}", *sorted(rows.get(name, []))]
        return "\n".join(lines) + "\n"


def _row(name: str, labels: str, value: float) -> str:
    number = int(value) if value == int(value) else value
    return f"{name}{{{labels}}} {number}" if labels else f"{name} {number}"
