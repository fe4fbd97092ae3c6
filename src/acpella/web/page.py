"""What a server needs to offer the page: its files, its login, and agents that pages share."""

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from acpella._directories import state
from acpella.rpc.message import UNREADABLE
from acpella.server.access.gate import Refusal
from acpella.server.access.tokens import Tokens
from acpella.server.agent_factories import AgentFactory
from acpella.server.http.requests import HttpRequest

from .launch import LaunchCodes
from .shared.about import About, OtherAgent
from .shared.factory import SharedAgentFactory
from .shared.records import SessionRecords
from .shared_tokens import SharedTokens
from .static_files import HEADERS, StaticFiles

if TYPE_CHECKING:
    from acpella.sessions import Cluster

__all__ = ["OtherAgent", "Page", "records_of"]

log: logging.Logger = logging.getLogger(__name__)

MAX_LOGIN = 4096
"""Bytes of a request to log in."""


class _Login(msgspec.Struct):
    code: str


def records_of(words: list[str], cwd: str) -> Path:
    """The file of records for this command in this directory: session ids mean something else to another."""
    key = hashlib.sha256(msgspec.json.encode([words, cwd])).hexdigest()[:16]
    return state() / "web" / f"sessions-{key}.jsonl"


class Page:
    """The pages of a server: `acpella.server.asgi(…, pages=Page(…))`."""

    def __init__(
        self,
        *,
        name: str = "",
        cwd: str = "",
        writes: bool = True,
        hidden: str = "/inspect",
        records: Path | None = None,
        switches: bool = False,
        off: frozenset[str] = frozenset(),
        in_frames: bool = False,
        others: Sequence[OtherAgent] = (),
        keys: Sequence[str] = (),
    ) -> None:
        """`name` is what the agent is called, `cwd` where new sessions work. Without `writes`, agents get no
        more than files to read from this machine. `hidden` is the page that is not offered here.
        `records` is a file that keeps whose sessions are whose, their names and invitations. With `switches`,
        a person may switch off what the client declares to the agent, beginning with `off`. With `in_frames`,
        the inspector shows the page beside the messages. For the person who runs the command, `others` are
        agents that could be started instead, and `keys` the variables of models that have a value."""
        self._hidden = hidden
        self.codes: LaunchCodes = LaunchCodes()
        self.in_frames: bool = in_frames
        self._tokens: SharedTokens | None = None
        self._files = StaticFiles(in_frames=in_frames)
        self._records = records
        self._about = About(
            name=name,
            cwd=cwd,
            writes=writes,
            inspector=hidden != "/inspect",
            switches=switches,
            off=off,
            others=tuple(others),
            keys=tuple(keys),
        )

    def around(self, factory: AgentFactory) -> AgentFactory:
        """The factory with its agents shared by the pages that are open."""
        return SharedAgentFactory(factory, self._about, SessionRecords(self._records))

    async def serve(self, request: HttpRequest, auth: object) -> bool:
        """Answer a request that needs no credentials; False for any other request.

        Raises:
            Refusal: the code to log in with does not count.
        """
        if request.is_websocket:
            return False
        if request.path == "/acp/login":
            await self._log_in(request, auth)
            return True
        file = self._files.find(request.path) if request.path != self._hidden else None
        if file is None or (request.path == "/" and "text/html" not in request.headers.get("accept", "")):
            return False  # programs speak the protocol at / as before
        if request.method not in ("GET", "HEAD"):
            return False
        body, headers = file.body, file.headers
        if file.compressed and "gzip" in request.headers.get("accept-encoding", ""):
            body, headers = file.compressed, [*headers, (b"content-encoding", b"gzip")]
        await request.reply(200, b"" if request.method == "HEAD" else body, kind=file.kind, headers=headers)
        return True

    async def join(self, cluster: "Cluster", auth: object) -> None:
        """Make links of this node work at the other nodes, and theirs here, if tokens were made for them.

        Raises `StoreError`.
        """
        if self.codes.tokens and isinstance(auth, Tokens):
            self._tokens = SharedTokens(cluster, auth, self.codes.tokens)
            await self._tokens.open()
            await self.codes.share(cluster)

    async def leave(self) -> None:
        """Stop sharing links with the other nodes."""
        if self._tokens is not None:
            await self._tokens.close()

    async def serve_allowed(self, request: HttpRequest) -> bool:
        """Pages speak the protocol like any other client; nothing else is for them."""
        return False

    async def _log_in(self, request: HttpRequest, auth: object) -> None:
        if request.method != "POST":
            raise Refusal(405, "POST the code", headers=[(b"allow", b"POST")])
        try:
            login = msgspec.json.decode(await request.body(limit=MAX_LOGIN, seconds=10), type=_Login)
        except UNREADABLE:
            raise Refusal(400, 'send {"code": "…"}') from None
        token = await self.codes.redeem(login.code)
        if token is not None and self._tokens is not None:
            await self._tokens.until_known(token)
        credential = auth.credential_of(token) if token is not None and isinstance(auth, Tokens) else None
        if token is None or credential is None:
            why = "this link was used already, or is too old; the terminal gives another one"
            raise Refusal(401, f"{why} (`acpella web`: press Enter there)")
        body = msgspec.json.encode({"token": token, "user": credential.principal})
        headers = [*HEADERS, (b"cache-control", b"no-store")]
        await request.reply(200, body, kind=b"application/json", headers=headers)
