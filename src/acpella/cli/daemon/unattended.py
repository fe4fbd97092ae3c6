"""A prompt that nobody waits for: the daemon is its client, with what `run` was allowed to do."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..state import paths
from ..state.catalogue import now
from .methods import QUEUED

if TYPE_CHECKING:
    from acpella.rpc import Channel

    from .client import Config

__all__ = ["Kept", "Queued", "UnattendedClient", "keep", "results"]

MAX_TEXT = 64 * 1024
"""Characters of an answer that are kept."""

MAX_RESULTS = 20
"""Answers that are kept for each session."""


class Queued(msgspec.Struct, kw_only=True):
    """What `_daemon/queue` takes."""

    request: msgspec.Raw
    """A `PromptRequest`."""
    write: bool = False
    yolo: bool = False


class Kept(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How such a prompt ended."""

    prompt: str
    at: str
    stop_reason: str = ""
    error: str = ""
    text: str = ""


class UnattendedClient:
    """Runs one prompt inside the daemon and keeps how it ended."""

    def __init__(self, config: "Config", session_id: str, queued: Queued) -> None:
        self._config = config
        self._session_id = session_id
        self._queued = queued
        self.queued: asyncio.Future[int | BaseException] = asyncio.get_running_loop().create_future()
        """Done when the prompt waits for its turn: how many are before it."""

    async def run(self, channel: "Channel") -> None:
        from acpella.client import ClientSettings, connect
        from acpella.errors import AcpellaError, TransportError
        from acpella.schema import methods

        from ..capabilities import offers

        what = ""
        try:
            blocks = methods.PROMPT.read_params(self._queued.request).prompt
            what = " ".join(" ".join(getattr(block, "text", "") for block in blocks).split())
            agent = connect(
                channel,
                settings=ClientSettings(),
                notifications={QUEUED: self._told},
                **offers(write=self._queued.write, yolo=self._queued.yolo),
            )
            agent.name = self._config.agent
            async with agent:
                session = await agent.resume_session(self._session_id, self._config.cwd)
                result = await session.prompt(blocks)
            outcome = Kept(
                prompt=what[:200], at=now(), stop_reason=result.stop_reason or "", text=result.text[:MAX_TEXT]
            )
        except (AcpellaError, TimeoutError, OSError, ValueError, msgspec.MsgspecError) as error:
            self._tell(error)
            outcome = Kept(prompt=what[:200], at=now(), error=str(error)[:MAX_TEXT])
        finally:
            self._tell(
                TransportError("the prompt could not be queued; the log of the background process says why")
            )
        keep(self._config.key, outcome)

    def _told(self, params: dict[str, int]) -> None:
        self._tell(params["before"])

    def _tell(self, news: int | BaseException) -> None:
        if not self.queued.done():
            self.queued.set_result(news)


def _file(key: str) -> Path:
    return paths.daemons() / f"{key}.results"


def results(key: str) -> list[Kept]:
    """How prompts that nobody waited for ended, the oldest first."""
    try:
        return msgspec.json.decode(_file(key).read_bytes(), type=list[Kept])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return []


def keep(key: str, outcome: Kept) -> None:
    data = msgspec.json.encode([*results(key), outcome][-MAX_RESULTS:])
    paths.write_private(_file(key), data)
