"""Runs a server with uvicorn: what it is started with is checked, and turns end before it does."""

import asyncio
import logging
import socket
import ssl
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn

from .access.gate import AuthHook, Tokens, is_loopback
from .access.local_user import can_tell_users
from .app import Server, asgi
from .http.listener import Listener, raise_file_limit
from .http.uvicorn_protocols import HttpProtocol, WebSocketProtocol
from .logs import hide_secrets
from .settings import ServerSettings

if TYPE_CHECKING:
    from acpella.agent import Agent

    from .agent_factories import AgentFactory
    from .http.pages import Pages

__all__ = ["Runner", "serve"]

log: logging.Logger = logging.getLogger(__name__)

MAX_SILENT = 32_767.0
"""Seconds that TCP takes for a time between questions."""


async def serve(
    agent: "Agent | Sequence[str] | AgentFactory",
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    settings: ServerSettings | None = None,
    auth: AuthHook | None = None,
    token: str | None = None,
    **uvicorn_options: Any,
) -> None:
    """Host an agent until SIGINT or SIGTERM comes, then let running turns end.

    `agent`, `settings`, `auth` and `token` are those of `asgi`; other options are uvicorn's, such as
    `ssl_certfile` and `ssl_keyfile`.

    Raises:
        ValueError: the address can be reached from other machines, and nothing asks for credentials, or they
            would come without TLS and `plain_http` does not allow it.
        OSError: the address is in use, or not this machine's.
    """
    runner = Runner(agent, host=host, port=port, settings=settings, auth=auth, token=token, **uvicorn_options)
    runner.bind()
    await runner.run()


class Runner:
    """A server on an address: bound first, so that its port is known, then run."""

    def __init__(
        self,
        agent: "Agent | Sequence[str] | AgentFactory",
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        settings: ServerSettings | None = None,
        auth: AuthHook | None = None,
        token: str | None = None,
        pages: "Pages | None" = None,
        **uvicorn_options: Any,
    ) -> None:
        settings = settings or ServerSettings.load()
        if token is not None and auth is None:
            auth = Tokens.single(token)
        if auth is None and not is_loopback(host):
            raise ValueError(
                f"{host} can be reached from other machines: give a token (--token, --token-file or "
                "ACPELLA_TOKEN), or an auth hook"
            )
        self._is_tls = any(uvicorn_options.get(name) for name in ("ssl_certfile", "ssl_context_factory"))
        if not self._is_tls and not settings.plain_http and not is_loopback(host):
            raise ValueError(
                f"tokens for {host} would cross the network in the clear: give a certificate (--certfile and "
                "--keyfile), or say --plain-http if a proxy or a private network encrypts what comes here"
            )
        if auth is None and settings.local_users == "own" and not can_tell_users():
            raise ValueError(
                "this system does not tell which user a connection comes from, so anybody on this machine "
                "could act as you: give a token (--token, --token-file or ACPELLA_TOKEN), or let in all "
                'users of this machine with local_users = "all" (ACPELLA_SERVER_LOCAL_USERS=all)'
            )
        _check_certificate(uvicorn_options)
        if host not in ("0.0.0.0", "::", "") and host not in settings.allowed_hosts:
            settings = settings.but(allowed_hosts=(*settings.allowed_hosts, host))
        self.host = host
        self.port: int = port
        self.app: Server = asgi(agent, settings=settings, auth=auth, pages=pages)
        self._socket: Listener | None = None
        pings = settings.ping_seconds or None
        options: dict[str, Any] = {
            "http": partial(
                HttpProtocol, listener=lambda: self._socket, header_seconds=settings.header_seconds
            ),
            "ws": WebSocketProtocol,
            "ws_max_size": settings.max_body,
            "ws_per_message_deflate": False,  # a small frame could inflate to a huge message
            "ws_ping_interval": pings,
            "ws_ping_timeout": None if pings is None else pings * 2,
            "h11_max_incomplete_event_size": settings.max_header,
            "timeout_graceful_shutdown": 5,
            "server_header": False,
            "log_config": None,
            "access_log": False,  # it would show queries; ours does not
            "proxy_headers": False,
            "lifespan": "on",
        }
        hide_secrets()
        self._config = uvicorn.Config(self.app, **{**options, **uvicorn_options})
        self._server: _Uvicorn | None = None
        self.started: asyncio.Event = asyncio.Event()

    @property
    def url(self) -> str:
        """Where the protocol is spoken."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(self.host, self.host)
        if ":" in host and not host.startswith("["):
            host = f"[{host}]"
        return f"{'https' if self._is_tls else 'http'}://{host}:{self.port}{self.app.settings.path}"

    def bind(self) -> None:
        """Take the address. Raises `OSError`."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        sock = Listener(family, most=self._most_sockets())
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            _notice_silence(sock, self.app.settings)
            sock.bind((self.host, self.port))
            sock.listen(2048)
        except BaseException:
            sock.close()
            raise
        sock.set_inheritable(False)
        self._socket = sock
        self.port = sock.getsockname()[1]

    def _most_sockets(self) -> int:
        """As many as the settings and the system allow: agents need files, too."""
        sockets, files = self.app.settings.max_sockets, raise_file_limit()
        most = min(sockets, max(1, files * 3 // 4))
        if most < sockets:
            log.warning(
                "the system lets this program have %d files open, so it takes %d connections at once instead "
                "of %d (max_sockets); `ulimit -n` raises that",
                *(files, most, sockets),
            )
        return most

    async def open(self) -> None:
        """Take the address and open the store, so that whoever is told of the server can use it.

        Raises:
            OSError: the address cannot be had.
            StoreError: the store cannot be opened; says why.
        """
        if self._socket is None:
            self.bind()
        assert self._socket is not None
        try:
            await self.app.open()
        except BaseException:
            self._socket.close()
            raise

    async def run(self, *, signals: bool = True) -> None:
        """Serve until told to stop. Raises what `open` does."""
        await self.open()
        assert self._socket is not None
        server = self._server = _Uvicorn(self._config, self.app, self.started, signals=signals)
        try:
            await server.serve(sockets=[self._socket])
        finally:
            self._socket.close()
            await self._socket.hang_up()
            await self.app.close()

    def stop(self) -> None:
        """Let running turns end, then everything."""
        if self._server is not None:
            self._server.should_exit = True


def _check_certificate(options: dict[str, Any]) -> None:
    """Raises `ValueError` that names the file, before anybody is told that the server runs."""
    certificate, key = options.get("ssl_certfile"), options.get("ssl_keyfile")
    if not certificate:
        if key:
            raise ValueError(f"the key {key} needs its certificate (--certfile)")
        return
    for what, file in (("certificate", certificate), ("key", key)):
        try:
            if file:
                with open(file, "rb"):
                    pass
        except OSError as error:
            raise ValueError(f"the {what} {file} cannot be read: {error.strerror}") from None
    password = (
        options.get("ssl_keyfile_password") or ""
    )  # rather than ask on a terminal that may not be there
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password)
    except (ssl.SSLError, ValueError) as error:
        if "MISMATCH" in str(error).upper():
            raise ValueError(f"the key {key or certificate} does not belong to {certificate}") from None
        raise ValueError(
            f"{certificate} and {key or 'no key'} are not a certificate and key in PEM that can be used "
            f"without a passphrase: {getattr(error, 'reason', None) or error}"
        ) from None


def _notice_silence(sock: socket.socket, settings: ServerSettings) -> None:
    """Let TCP ask clients that are silent whether they are there; accepted sockets inherit it.

    A client that vanished without a word (no FIN, no RST) would otherwise keep its stream open for hours.
    """
    seconds = min(settings.silent_seconds, MAX_SILENT)
    if not seconds:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # systems differ in which of these they have, and in the name of the first
    idle = getattr(socket, "TCP_KEEPIDLE", getattr(socket, "TCP_KEEPALIVE", None))
    # stall_seconds decides about a client that is there but reads nothing, so do not give up earlier
    given_up = max(seconds, min(settings.stall_seconds, MAX_SILENT)) * 1000
    for option, value in (
        (idle, seconds / 2),
        (getattr(socket, "TCP_KEEPINTVL", None), seconds / 6),
        (getattr(socket, "TCP_KEEPCNT", None), 3),
        (getattr(socket, "TCP_USER_TIMEOUT", None), given_up),
    ):
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, max(1, round(value)))


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, app: Server, started: asyncio.Event, *, signals: bool) -> None:
        super().__init__(config)
        self._app = app
        self._started_event = started
        self._signals = signals

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Where the program has handlers of its own, they stay."""
        if not self._signals:
            yield
            return
        with super().capture_signals():
            yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started_event.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """uvicorn would cut all sockets first; turns that run shall reach their clients."""
        draining = asyncio.ensure_future(self._app.close())
        while not draining.done() and not self.force_exit:
            await asyncio.wait([draining], timeout=0.1)
        await super().shutdown(sockets)
        draining.cancel()
