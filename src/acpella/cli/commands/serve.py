"""`acpella serve`: an agent for people elsewhere, over HTTP and WebSocket."""

import argparse
import asyncio
import errno
import os
import secrets
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from acpella._references import is_reference

from .. import exits

if TYPE_CHECKING:
    from acpella.client.settings import AgentServer
    from acpella.server import AuthHook, Runner, ServerSettings

__all__ = ["declare", "run"]

LINK_SECONDS = 600.0
"""How long the link to the page is valid; it works once."""

STORE_IS_SLOW = 1.0
"""Seconds after which somebody wants to know what the server waits for."""

_EPILOG = """\
examples:
  acpella serve                                 the built-in agent
  acpella serve myagent:agent                   the object `agent` of the module `myagent`
  acpella serve ./hello.py:agent                the same from a file; an acpella.Agent, or an agent of
                                                LangChain, pydantic-ai and other frameworks
  acpella serve hello.py                        a program that speaks ACP on stdio when it is run
  acpella serve -- npx some-agent --acp         any agent that speaks ACP on stdio; a process per connection
  acpella serve --web --token-file tokens.txt   with a page for browsers, which people open with their token
  acpella serve --store env:DATABASE_URL --node-name n1 myagent:agent       one of several nodes
  ACPELLA_TOKEN=$(openssl rand -hex 32) acpella serve --host 0.0.0.0 --certfile c.pem --keyfile k.pem my:agent

what is served (below the address that is printed):
  /acp                 the official transport: Streamable HTTP, and WebSocket on the same path
  /acp/ws, /message    plain WebSockets
  /acp/rpc, /acp/sse   POST and events by ?client_id=
  /acp/ticket          POST for a ticket, with which a web page can connect without its token in a URL
  /, /static, /acp/login   the page, with --web
  /inspect             the inspector, with --inspect; needs the scope `admin`
  /healthz, /readyz    for load balancers; no credentials needed
  /metrics             for Prometheus; needs the scope `admin`

Clients connect with `acpella connect URL`, acpella.connect(URL), or any ACP client with a remote transport.
Every limit is a line of the --config file (TOML) or a variable ACPELLA_SERVER_NAME; the reference lists them.
SIGTERM and Ctrl-C let running turns end first; a second Ctrl-C does not wait.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Host an agent over HTTP, server-sent events and WebSocket."
    parser.usage = "acpella serve [options] [MODULE:NAME | FILE.py:NAME | AGENT | -- COMMAND ARG...]"
    parser.epilog = _EPILOG
    add = parser.add_argument
    add(
        "target",
        nargs="*",
        metavar="TARGET",
        help="what to host, also an agent that the registry has installed; default: the built-in one",
    )
    add("--host", default="127.0.0.1", help="address to listen on; default: %(default)s, this machine only")
    add(
        "--port", type=_port, default=8000, help="port to listen on, 0 for any free one; default: %(default)s"
    )
    add(
        "--web",
        action="store_true",
        help="offer a page to browsers at the same address; everybody needs a token then, here too",
    )
    who = parser.add_argument_group("who may connect")
    who.add_argument(
        "--token",
        metavar="TOKEN",
        help="bearer token that every client must send, 32 characters or more; better in ACPELLA_TOKEN, "
        "where other users of the machine do not see it",
    )
    who.add_argument(
        "--token-file",
        metavar="PATH",
        help="several users: the file that `acpella tokens` writes, lines of USER sha256:HASH [until=DATE] "
        "[scopes=prompt,approve,read,admin]; read again when it changes",
    )
    who.add_argument(
        "--plain-http",
        action="store_true",
        help="take tokens without TLS from other machines: something else encrypts, such as a proxy",
    )
    who.add_argument(
        "--trust-proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="believe X-Forwarded-For of this proxy, an address or a network; may be repeated",
    )
    who.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="answer to this name in the Host header; may be repeated; * for any",
    )
    who.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let web pages of this origin connect; may be repeated",
    )
    who.add_argument(
        "--root",
        action="append",
        default=[],
        metavar="PATH",
        help="sessions may only work below this directory; may be repeated",
    )
    who.add_argument(
        "--mcp-commands",
        choices=("auto", "yes", "no"),
        default=None,
        help="whether clients may name MCP servers that are programs to start here; auto: without a token",
    )
    who.add_argument(
        "--mcp-urls",
        choices=("auto", "yes", "no"),
        default=None,
        help="whether clients may name MCP servers by URL, to be reached from here; auto: without a token",
    )
    how = parser.add_argument_group("how it runs")
    how.add_argument(
        "--config", metavar="PATH", help="settings in TOML; the environment and options take precedence"
    )
    how.add_argument(
        "--log-format",
        choices=("text", "json"),
        default="text",
        help="how log lines look; default: %(default)s",
    )
    how.add_argument(
        "--log-level",
        default="INFO",
        choices=("DEBUG", "INFO", "WARNING", "ERROR"),
        help="the least important lines to log; default: %(default)s",
    )
    how.add_argument(
        "--no-finish-turns", action="store_true", help="cancel a turn as soon as its client is away"
    )
    how.add_argument(
        "--store",
        metavar="STORE",
        help="where sessions are kept, instead of the agent's own choice: a file, postgresql://…, or "
        "env:NAME for what that variable says; nodes on one PostgreSQL store serve the same clients",
    )
    how.add_argument(
        "--node-name", metavar="NAME", help="how this node is called among those with the same store"
    )
    how.add_argument("--cwd", metavar="PATH", help="working directory of a hosted command")
    how.add_argument(
        "--record",
        metavar="DIR",
        help="write a recording of each connection into this directory, without secrets",
    )
    how.add_argument(
        "--inspect",
        action="store_true",
        help="offer the inspector at /inspect to people with the scope `admin`: every message of every "
        "connection, without secrets; kept only while the server runs, unless --record says where",
    )
    how.add_argument("--certfile", metavar="PATH", help="TLS certificate (PEM)")
    how.add_argument("--keyfile", metavar="PATH", help="its key (PEM)")


def _port(text: str) -> int:
    if text.isdigit() and int(text) < 65536:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port; ports go from 0 to 65535")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from acpella.errors import AcpellaError
    from acpella.sessions import StoreError

    try:
        with ExitStack() as stack:
            return _run(arguments, stack)
    except KeyboardInterrupt:
        return exits.CANCELLED
    except (ImportError, AcpellaError, TypeError, ValueError, OSError) as error:
        print(f"acpella: {_explained(arguments, error)}", file=sys.stderr)  # noqa: T201 - for the operator
        return exits.NOT_FOUND if isinstance(error, ImportError | StoreError) else exits.USAGE


def _explained(arguments: argparse.Namespace, error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {arguments.port} is in use; choose another with --port, or stop what uses it"
    if isinstance(error, OSError) and error.errno == errno.EADDRNOTAVAIL:
        return f"{arguments.host} is not an address of this machine"
    if isinstance(error, OSError) and error.errno == errno.EACCES and arguments.port < 1024:
        return f"port {arguments.port} needs privileges; choose one from 1024 on"
    return str(error)


def _run(arguments: argparse.Namespace, stack: ExitStack) -> int:
    from acpella.server import Runner
    from acpella.server.access.gate import describe, is_loopback
    from acpella.server.logs import set_up_logging
    from acpella.sessions import quick_thread_switches

    set_up_logging(arguments.log_format, level=arguments.log_level)
    settings = _settings(arguments)
    auth = _auth(arguments)
    target = _target(arguments.target, arguments.cwd, settings)
    _choose_store(target, arguments.store)
    options: dict[str, Any] = {}
    if arguments.certfile or arguments.keyfile:
        options = {"ssl_certfile": arguments.certfile, "ssl_keyfile": arguments.keyfile}
    chat = pages = token = None
    if arguments.web:
        from acpella.web import Page, records_of

        cwd = str(Path(arguments.cwd or ".").absolute())
        chat = pages = Page(
            name="" if arguments.target else "coder",
            cwd=cwd,
            records=records_of(arguments.target, cwd),
            hidden="" if arguments.inspect else "/inspect",
        )
    if arguments.inspect:
        from acpella.inspector.page import InspectorPage
        from acpella.inspector.sources import of_directory

        if not settings.record:
            settings = settings.but(record=stack.enter_context(TemporaryDirectory(prefix="acpella-inspect-")))
        pages = InspectorPage(of_directory(Path(settings.record)), live=True, page=chat)
    if pages is not None and auth is None:
        from acpella.server import Tokens

        token = secrets.token_hex(32)
        auth = Tokens({token: "you"})
    runner = Runner(
        target, host=arguments.host, port=arguments.port, settings=settings, auth=auth, pages=pages, **options
    )
    runner.bind()
    lines = [f"acpella serves {_name(arguments.target)} at {runner.url}  ({describe(auth)})"]
    if pages is not None:
        home = runner.url.removesuffix(settings.path)
        for path in ([""] if arguments.web else []) + (["inspect"] if arguments.inspect else []):
            code = f"#{pages.codes.issue(token, seconds=LINK_SECONDS)}" if token else ""
            lines.append(f"  the {'inspector' if path else 'page'}: {home}/{path}{code}")
    if not is_loopback(arguments.host):
        if not options:
            lines.append(
                "  without TLS, tokens can be read on the way, unless a proxy or the network encrypts them"
            )
        if arguments.host in ("0.0.0.0", "::") and not arguments.allow_host and not settings.allowed_origins:
            lines.append(f"  it answers to {', '.join(settings.allowed_hosts)}; --allow-host adds a name")
        if not settings.roots:
            lines.append("  sessions may work in any directory of this machine; --root limits them")
    with quick_thread_switches():  # sessions are in SQLite, mostly
        asyncio.run(_serve(runner, lines))
    return exits.DONE


async def _serve(runner: "Runner", lines: list[str]) -> None:
    """Say where it serves when it can; a database that is away is tried for some seconds."""
    waiting = asyncio.get_running_loop().call_later(STORE_IS_SLOW, _say, "waiting for the session store")
    try:
        await runner.open()
    finally:
        waiting.cancel()
    for line in lines:
        _say(line)
    await runner.run()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - for the operator


def _settings(arguments: argparse.Namespace) -> "ServerSettings":
    from acpella.server import ServerSettings

    settings = ServerSettings.load(arguments.config)
    changes: dict[str, Any] = {}
    if arguments.allow_host:
        changes["allowed_hosts"] = (*settings.allowed_hosts, *arguments.allow_host)
    if arguments.allow_origin:
        changes["allowed_origins"] = (*settings.allowed_origins, *arguments.allow_origin)
    if arguments.plain_http:
        changes["plain_http"] = True
    if arguments.trust_proxy:
        changes["trusted_proxies"] = (*settings.trusted_proxies, *arguments.trust_proxy)
    if arguments.root:
        changes["roots"] = (*settings.roots, *(str(Path(root).absolute()) for root in arguments.root))
    if arguments.mcp_commands is not None:
        changes["mcp_commands"] = arguments.mcp_commands
    if arguments.mcp_urls is not None:
        changes["mcp_urls"] = arguments.mcp_urls
    if arguments.record:
        changes["record"] = str(Path(arguments.record).absolute())
    if arguments.node_name is not None:
        changes["node_name"] = arguments.node_name
    if arguments.no_finish_turns:
        changes["finish_turns"] = False
    return settings.but(**changes)


def _auth(arguments: argparse.Namespace) -> "AuthHook | None":
    from acpella.server import Tokens

    for name in ("ACPELLA_TOKEN", "ACPELLA_TOKEN_FILE"):
        if os.environ.get(name) == "":  # perhaps a secret that did not arrive: nobody wants to serve without
            raise ValueError(
                f"{name} is set, but empty; give it a value, or unset it to ask nobody for credentials"
            )
    if arguments.token == "" or arguments.token_file == "":
        raise ValueError("--token and --token-file need a value")
    file = arguments.token_file or os.environ.get("ACPELLA_TOKEN_FILE")
    token = arguments.token or os.environ.get("ACPELLA_TOKEN")
    if arguments.token and arguments.token_file:
        raise ValueError("give either --token or --token-file")
    if file and not arguments.token:
        return Tokens.from_file(file)
    return Tokens.single(token) if token else None


def _choose_store(target: Any, option: str | None) -> None:
    """Keep the agent's sessions there. Raises `ValueError`."""
    if option is None:
        return
    from acpella.agent import Agent
    from acpella.sessions import open_store

    if not isinstance(target, Agent):
        raise ValueError(
            "--store is for an agent that is imported, such as module:agent; a hosted command keeps its "
            "sessions itself, and its connections stay on the node that started it"
        )
    store = open_store(_store_named(option), name=target.name)
    assert store is not None
    target.store = store


def _store_named(text: str) -> str:
    """A password does not belong on a command line, where other users of the machine see it."""
    if not text.startswith("env:"):
        return text
    value = os.environ.get(text.removeprefix("env:"), "")
    if not value:
        raise ValueError(f"the environment variable {text.removeprefix('env:')} names no store")
    return value


def _name(words: list[str]) -> str:
    return "the built-in agent" if not words else words[0]


def _target(words: list[str], cwd: str | None, settings: "ServerSettings") -> Any:
    from acpella.server.agent_factories import CommandFactory

    if not words:
        return _built_in()
    if len(words) == 1 and is_reference(words[0]):
        return _imported(words[0])
    if len(words) == 1 and words[0].endswith(".py"):
        if not Path(words[0]).is_file():
            raise ImportError(f"there is no file {words[0]}")
        words = [sys.executable, str(Path(words[0]).absolute())]
    elif len(words) == 1 and (server := _by_name(words[0])) is not None:
        return CommandFactory([server.command, *server.args], cwd=cwd, settings=settings, env=server.env)
    elif shutil.which(words[0], path=None if os.sep not in words[0] else cwd or ".") is None:
        raise ValueError(f"{words[0]} is not a program that can be started here; check the name or the path")
    return CommandFactory(words, cwd=cwd, settings=settings)


def _by_name(word: str) -> "AgentServer | None":
    """An agent that was installed from the registry, or is known by name and on the PATH."""
    from acpella.client.names import find_by_name

    agent = find_by_name(word)
    return None if agent is None else agent.server


def _built_in() -> Any:
    from acpella.coder import agent

    return agent()


def _imported(reference: str) -> Any:
    """The agent that `module:name` or `file.py:name` means."""
    from acpella.adapters import adapt_target

    return adapt_target(reference)
