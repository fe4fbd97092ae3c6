"""What is asked of a background process itself, not of its agent: the methods that begin with `_daemon/`."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from acpella._plain_json import as_dict
from acpella.errors import InvalidRequest, RpcError
from acpella.rpc.message import UNREADABLE
from acpella.rpc.relay import Frame

from . import methods
from .agent import KeptAgent
from .client import Config
from .errors import to_wire
from .jobs import Jobs
from .links import ClientLink, request_id
from .tasks import Tasks

if TYPE_CHECKING:
    from .unattended import UnattendedClient

__all__ = ["DaemonControl"]


class DaemonControl:
    """Tells the status, cancels, ends, and takes prompts that nobody waits for."""

    def __init__(
        self,
        config: Config,
        agent: KeptAgent,
        jobs: Jobs,
        *,
        tasks: Tasks,
        cancel_running: Callable[[], bool],
        run_unattended: Callable[["UnattendedClient"], Awaitable[None]],
        end: Callable[[], None],
    ) -> None:
        self._config = config
        self._agent = agent
        self._jobs = jobs
        self._tasks = tasks
        self._cancel_running = cancel_running
        self._run_unattended = run_unattended
        self._end = end
        self._unattended: set[asyncio.Task[None]] = set()
        self._methods: dict[str, Callable[[ClientLink, Frame], None]] = {
            methods.STATUS: self._status,
            methods.CANCEL: self._cancel,
            methods.STOP: self._stop,
            methods.QUEUE: self._queue,
        }

    def serves(self, method: str) -> bool:
        return method in self._methods

    def serve(self, client: ClientLink, request: Frame) -> None:
        self._methods[request.method](client, request)

    async def wait_for_unattended(self, seconds: float) -> None:
        """Let the prompts that nobody waits for note how they ended."""
        if self._unattended:
            await asyncio.wait(self._unattended, timeout=seconds)

    def _status(self, client: ClientLink, request: Frame) -> None:
        job = self._jobs.running
        client.side.answer(
            request_id(request),
            {
                "pid": os.getpid(),
                "agentPid": self._agent.pid,
                "sessionId": self._agent.session_id,
                "agent": self._agent.name,
                "running": None
                if job is None
                else {
                    "prompt": job.what,
                    "since": job.started,
                    "cancelling": job.cancelled,
                    "waitedFor": not job.background,
                },
                "queue": [{"prompt": waiting.what, "since": waiting.since} for waiting in self._jobs.waiting],
                "lastActivity": self._jobs.last_activity,
            },
        )

    def _cancel(self, client: ClientLink, request: Frame) -> None:
        params = as_dict(msgspec.json.decode(bytes(request.envelope.params) or b"{}"))
        queued = list(self._jobs.waiting) if params.get("all") else []
        for job in queued:
            self._jobs.finish(job, cancelled=True)
        running = self._cancel_running()
        client.side.answer(request_id(request), {"running": running, "queued": len(queued)})

    def _stop(self, client: ClientLink, request: Frame) -> None:
        client.side.answer(request_id(request), {})
        asyncio.get_running_loop().call_soon(self._end)

    def _queue(self, client: ClientLink, request: Frame) -> None:
        from .unattended import Queued, UnattendedClient

        if not client.attached:
            client.side.refuse(request_id(request), InvalidRequest("initialize first"))
            return
        try:
            prompt = msgspec.json.decode(request.envelope.params, type=Queued)
        except UNREADABLE as error:
            client.side.refuse(request_id(request), RpcError(f"{methods.QUEUE}: {error}", code=-32602))
            return
        unattended = UnattendedClient(self._config, self._agent.session_id, prompt)

        async def tell() -> None:
            before = await unattended.queued
            if isinstance(before, BaseException):
                client.side.refuse(request_id(request), to_wire(before))
            else:
                client.side.answer(request_id(request), {"before": before})

        running = self._tasks.spawn(self._run_unattended(unattended))
        self._unattended.add(running)
        running.add_done_callback(self._unattended.discard)
        self._tasks.spawn(tell())
