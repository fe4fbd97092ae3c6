"""The server as an ASGI application: what comes in is checked, then handed to the transport it is for."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from msgspec import json

from acpella.sessions import StoreError, StoreUnavailable

from .access.credentials import TICKET_SECONDS, AuthHook, TooManyTickets
from .access.gate import Gate, Refusal
from .access.local_user import may_act_as_us, user_of_peer
from .access.proxies import Proxies, was_forwarded
from .access.tokens import Tokens
from .agent_factories import AgentFactory, CommandFactory, InProcessFactory, SharedFactory
from .connection.table import Connections
from .http import other_profiles, streamable
from .http.pages import Pages
from .http.posts import JSON, check_rate
from .http.requests import LET_IN, ASGIReceive, ASGIScope, ASGISend, HttpRequest
from .http.websocket import serve_socket, ticket_offered
from .settings import ServerSettings

if TYPE_CHECKING:
    from acpella.agent import Agent

    from .cluster.member import Member

__all__ = ["Server", "asgi"]

log: logging.Logger = logging.getLogger(__name__)
audit: logging.Logger = logging.getLogger("acpella.audit")
access: logging.Logger = logging.getLogger("acpella.access")

UNKNOWN_USER = "this server cannot tell which user's program sent this"
WITHOUT_USER = (
    "ask for credentials (a token or an auth hook), or let in all users of this machine with local_users=all"
)

TELL_AGAIN = 60.0
"""Seconds between two log lines about unknown users. Clients must not be able to fill the log."""

_EXPOSED = b"Acp-Connection-Id, Acp-Session-Id, Acpella-Resume"


def asgi(
    agent: "Agent | Sequence[str] | AgentFactory",
    *,
    settings: ServerSettings | None = None,
    auth: AuthHook | None = None,
    token: str | None = None,
    pages: Pages | None = None,
) -> "Server":
    """An ASGI application that hosts an agent: an `Agent` object, or the command of any stdio agent.

    Run it by itself, or mount it in Starlette or FastAPI; then give them its `lifespan`, so that running
    turns can end when the program does. `token` asks every client for that bearer token; `auth` is
    a check of your own (see `AuthHook`) or `Tokens`. Without either, only programs of the user who runs this
    are let in, and nobody where the ASGI server or the system does not tell whose they are. `pages` are
    offered to browsers; then everybody is asked for credentials.
    """
    if token is not None and auth is not None:
        raise ValueError("give either a token or an auth hook")
    settings = settings or ServerSettings.load()
    factory = _factory_for(agent, settings)
    if settings.record:
        from .recorded import RecordedFactory

        factory = RecordedFactory(factory, settings.record, agent=_about(agent, factory))
    auth = auth if token is None else Tokens.single(token)
    if pages is not None:
        if auth is None:
            raise ValueError("a server with pages asks for credentials: any web page runs as the same user")
        if settings.path != "/acp":
            raise ValueError(f"pages find the protocol at /acp only, not at {settings.path}")
        factory = pages.around(factory)
    return Server(factory, settings, auth, pages)


def _factory_for(agent: Any, settings: ServerSettings) -> AgentFactory:
    if callable(getattr(agent, "serve_on", None)):
        return InProcessFactory(agent, roots=settings.roots)
    if callable(getattr(agent, "start", None)) and hasattr(agent, "checks_owners"):
        return agent
    if isinstance(agent, str):
        raise TypeError(f"a command is a list of words, such as {agent.split()!r}, not one string")
    return CommandFactory(agent, settings=settings)


def _about(agent: Any, factory: AgentFactory) -> dict[str, Any]:
    """What a recording says of its agent."""
    if isinstance(factory, CommandFactory):
        return {"command": factory.command}
    return {"name": getattr(agent, "name", type(agent).__name__)}


class Server:
    """An ASGI application. Made by `asgi`."""

    def __init__(
        self,
        factory: AgentFactory,
        settings: ServerSettings,
        auth: AuthHook | None,
        pages: Pages | None = None,
    ) -> None:
        self.settings = settings
        self._auth = auth
        self._pages = pages
        self.gate: Gate = Gate(settings, auth)
        self._proxies = Proxies(settings.trusted_proxies)
        self.connections: Connections = Connections(factory, settings, self.gate)
        self._factory = factory
        self._member: Member | None = None
        self._opening = asyncio.Lock()
        self._is_open = False
        self._closing: asyncio.Task[None] | None = None
        self._tell_unknown_at = float("-inf")

    @property
    def metrics(self) -> Any:
        return self.connections.metrics

    @asynccontextmanager
    async def lifespan(self, app: object = None) -> AsyncGenerator[None]:
        """For the application that it is mounted in: ends the agents when that ends."""
        await self.open()
        try:
            yield
        finally:
            await self.close()

    async def open(self) -> None:
        """Open the store, and join the other nodes if several can have it. Safe to call twice.

        Raises:
            StoreError: the store cannot be opened; says why.
        """
        async with self._opening:
            if self._is_open:
                return
            factory = self._factory
            store = factory.shared_store if isinstance(factory, SharedFactory) else None
            if isinstance(factory, SharedFactory) and store is None:
                await factory.open()
            elif isinstance(factory, SharedFactory) and store is not None:
                from acpella.sessions import cluster_of

                from .cluster.member import Member
                from .cluster.tickets import ClusterTickets

                if self.settings.lease_seconds != ServerSettings.lease_seconds:
                    store.lease_seconds = self.settings.lease_seconds
                store.node_name = self.settings.node_name or store.node_name
                await factory.open()
                member = Member(
                    cluster_of(store),
                    self.connections,
                    lease_seconds=store.lease_seconds,
                    stays_here=factory.stays_here,
                )
                await member.open()
                self._member = member
                await factory.join(member.cluster)
                if self._pages is not None:
                    await self._pages.join(member.cluster, self._auth)
                self.gate.shared_tickets = ClusterTickets(member.cluster, self._auth)
            self._is_open = True

    async def close(self) -> None:
        """Wait for running turns, then end all connections. Safe to call twice."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await self.connections.drain()
        await self.connections.end_all()
        if self._pages is not None:
            await self._pages.leave()
        if self._member is not None:
            await self._member.close()
        await self.connections.close()

    # -- ASGI ------------------------------------------------------------------------------------

    async def __call__(self, scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if scope["type"] not in ("http", "websocket"):
            return
        request = HttpRequest(scope, receive, send, proxies=self._proxies)
        try:
            await self._serve(request)
        except Refusal as refusal:
            await self._refuse(request, refusal)
        except StoreError as error:
            await self._refuse(request, _unavailable(error))
        finally:
            status = request.status
            labels = f'method="{_word(request)}",status="{status}"'
            self.metrics.add("acpella_requests_total", labels)
            # messages that were taken are the bulk, and say nothing more
            level = logging.DEBUG if status == 202 else logging.INFO
            if access.isEnabledFor(level):
                facts = {
                    "method": _word(request),
                    "path": request.path[:200],
                    "status": status,
                    "user": request.principal,
                    "address": request.requester.client,
                }
                access.log(
                    level, "%s %s %d", _word(request), request.path[:200], status, extra={"facts": facts}
                )

    async def _lifespan(self, receive: ASGIReceive, send: ASGISend) -> None:
        while True:
            event = await receive()
            if event["type"] == "lifespan.startup":
                try:
                    await self.open()
                except StoreError as error:
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif event["type"] == "lifespan.shutdown":
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _serve(self, request: HttpRequest) -> None:
        if request.header_size > self.settings.max_header:
            raise Refusal(
                431, f"the URL and the header lines may have at most {self.settings.max_header} bytes"
            )
        if request.path in ("/healthz", "/readyz") and not request.is_websocket:
            await self._tell_health(request)
            return
        if not self._is_open:
            await self.open()  # mounted without its lifespan
        self.gate.check_source(request.requester, own_pages=self._pages is not None)
        origin = request.headers.get("origin")
        if origin is not None:
            request.extra_headers += [
                (b"access-control-allow-origin", origin.encode("latin-1")),
                (b"access-control-expose-headers", _EXPOSED),
                (b"vary", b"Origin"),
            ]
            if request.method == "OPTIONS" and "access-control-request-method" in request.headers:
                await self._preflight(request)
                return
        if self._pages is not None and await self._pages.serve(request, self._auth):
            return
        if not self.gate.asks_for_credentials:
            self._check_is_local(request)
        request.credential = await self.gate.credential_of(request.requester, ticket=self._ticket_of(request))
        if request.memory is not None:
            request.memory[LET_IN] = True
        if self._pages is not None and await self._pages.serve_allowed(request):
            return
        await self._dispatch(request)

    def _check_is_local(self, request: HttpRequest) -> None:
        """Nobody is asked for credentials, so nobody may come from elsewhere, or as somebody else."""
        if was_forwarded(request.headers) or (request.peer and self._proxies.trusts(request.peer[0])):
            raise Refusal(
                403,
                "this came through a proxy, which may let in anybody: a server behind one must ask for "
                "credentials, with --token, ACPELLA_TOKEN, or --token-file",
            )
        if self.settings.local_users == "all":
            return
        memory = {} if request.memory is None else request.memory
        if "user" not in memory:
            ends = (request.peer, request.own_end)
            memory["user"] = None if ends[0] is None or ends[1] is None else user_of_peer(ends[0], ends[1])
        user: int | None = memory["user"]
        if user is None:
            self._tell_unknown(request)
            raise Refusal(403, f"{UNKNOWN_USER}; {WITHOUT_USER}")
        if not may_act_as_us(user):
            raise Refusal(
                403,
                "without a token only programs of the user who runs this server are let in; "
                "local_users=all lets in those of all users of this machine",
            )

    def _tell_unknown(self, request: HttpRequest) -> None:
        """Say once in a while what would help: with some ASGI servers nobody is let in."""
        now = asyncio.get_running_loop().time()
        if now >= self._tell_unknown_at:
            self._tell_unknown_at = now + TELL_AGAIN
            ends = f"client {request.peer}, server {request.own_end}"
            log.warning("refused a request: %s (%s); %s", UNKNOWN_USER, ends, WITHOUT_USER)

    def _ticket_of(self, request: HttpRequest) -> str | None:
        """The ticket of a request that may come with one: a WebSocket, or an event stream."""
        path = self.settings.path
        if request.is_websocket:
            return ticket_offered(request.subprotocols) or request.query("ticket")
        if request.method == "GET" and request.path in (path, "/", f"{path}/sse"):
            return request.query("ticket")
        return None

    async def _dispatch(self, request: HttpRequest) -> None:
        connections = self.connections
        path = self.settings.path
        where = request.path
        if self.settings.node_name:
            cookie = f"acpella_node={self.settings.node_name}; Path=/; HttpOnly; SameSite=Strict"
            request.extra_headers.append((b"set-cookie", cookie.encode()))
        if not request.is_websocket and request.method != "POST":
            check_rate(connections, request)  # whether a POST counts depends on its message
        if request.is_websocket:
            if where in (path, f"{path}/ws", "/"):
                await serve_socket(connections, request)
            elif where == "/message":
                await serve_socket(connections, request, binary=True)
            else:
                raise Refusal(404, "nothing is here")
        elif where in (path, "/"):
            await self._streamable(request)
        elif where == f"{path}/rpc" and request.method == "POST":
            await other_profiles.client_id_post(connections, request)
        elif where == f"{path}/sse" and request.method == "GET":
            await other_profiles.client_id_get(connections, request)
        elif where == f"{path}/ticket" and request.method == "POST":
            await self._give_ticket(request)
        elif where == "/metrics" and request.method == "GET":
            if "admin" not in request.credential.scopes:
                raise Refusal(403, "this needs a token with the scope 'admin'")
            await request.reply(200, self.metrics.text(), kind=b"text/plain; version=0.0.4; charset=utf-8")
        elif where in (f"{path}/rpc", f"{path}/sse", f"{path}/ticket"):
            raise Refusal(405, "POST to rpc and ticket, GET from sse")
        elif where in (f"{path}/ws", "/message"):
            raise Refusal(426, "this is for WebSockets", headers=[(b"upgrade", b"websocket")])
        else:
            raise Refusal(404, "nothing is here")

    async def _streamable(self, request: HttpRequest) -> None:
        if other_profiles.is_session_header_profile(request):
            await other_profiles.session_header(self.connections, request)
        elif request.method == "POST":
            await streamable.post(self.connections, request)
        elif request.method == "GET":
            if request.headers.get("upgrade", "").lower() == "websocket":
                raise Refusal(426, "WebSockets are not supported by this server's HTTP version")
            await streamable.get(self.connections, request)
        elif request.method == "DELETE":
            await streamable.delete(self.connections, request)
        else:
            raise Refusal(
                405, "GET, POST and DELETE are spoken here", headers=[(b"allow", b"GET, POST, DELETE")]
            )

    async def _give_ticket(self, request: HttpRequest) -> None:
        """Something that a web page can put into a URL: good once, and not for long."""
        check_rate(self.connections, request)
        try:
            ticket = await self.gate.issue_ticket(request.credential)
        except TooManyTickets:
            raise Refusal(
                429, "too many tickets wait to be used", headers=[(b"retry-after", b"30")]
            ) from None
        body = json.encode({"ticket": ticket, "expiresIn": int(TICKET_SECONDS)})
        await request.reply(200, body, kind=JSON, headers=[(b"cache-control", b"no-store")])

    async def _refuse(self, request: HttpRequest, refusal: Refusal) -> None:
        if refusal.status in (401, 403, 429):
            if refusal.status == 401:
                self.metrics.add("acpella_auth_failures_total")
            facts = {
                "address": request.requester.client,
                "user": request.principal,
                "status": refusal.status,
                "path": request.path[:200],
            }
            audit.warning("refused: %s", refusal.text, extra={"facts": facts})
        headers = list(refusal.headers)
        if request.hangs_up_after(refusal.status) and (b"connection", b"close") not in request.extra_headers:
            headers.append((b"connection", b"close"))  # the rest of the body is not wanted
        await request.reply(refusal.status, refusal.text + "\n", headers=headers)

    async def _tell_health(self, request: HttpRequest) -> None:
        if request.method not in ("GET", "HEAD"):
            raise Refusal(405, "GET it", headers=[(b"allow", b"GET, HEAD")])
        why = None if self._member is None else self._member.why_not_ready()
        if request.path == "/readyz" and self.connections.draining:
            await request.reply(503, "stopping\n")
        elif request.path == "/readyz" and why is not None:
            await request.reply(503, f"{why}\n", headers=[(b"retry-after", b"2")])
        else:
            await request.reply(200, "ok\n")

    async def _preflight(self, request: HttpRequest) -> None:
        headers = [
            (b"access-control-allow-methods", b"GET, POST, DELETE"),
            (
                b"access-control-allow-headers",
                b"Authorization, Content-Type, Last-Event-ID, Acp-Connection-Id, Acp-Session-Id, "
                b"Acp-Protocol-Version, Acpella-Resume, Acpella-Message",
            ),
            (b"access-control-max-age", b"600"),
        ]
        await request.reply(204, headers=headers)


def _unavailable(error: StoreError) -> Refusal:
    """What the client is told when the store does not do its part; only our log says the details."""
    log.warning("a request failed: %s", error)
    if isinstance(error, StoreUnavailable):
        why, seconds = "the database cannot be reached; try again in a moment", b"2"
    else:  # a full disk, a missing permission: it lasts until somebody acts
        why, seconds = "the store of this server does not work; the server's log says why", b"30"
    return Refusal(503, why, headers=[(b"retry-after", seconds)])


def _word(request: HttpRequest) -> str:
    """A method for the metrics: never a value that a client made up."""
    if request.is_websocket:
        return "WEBSOCKET"
    return (
        request.method if request.method in ("GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT") else "OTHER"
    )
