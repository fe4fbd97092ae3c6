"""The process of an owner: its lock, its socket, its end."""

import asyncio
import contextlib
import logging
import os
import socket
import sys
import time
from pathlib import Path

import msgspec

from . import places
from .catalogue import Catalogue
from .owner import MAX_CLIENTS, Owner
from .owners import Address, Config, lock, started_ticks

__all__ = ["main"]

log = logging.getLogger(__name__)


def main() -> int:
    """`python -m acpella.cli.owner_process`, a `Config` on stdin; tells on stdout when it can be reached."""
    config = msgspec.json.decode(sys.stdin.buffer.read(), type=Config)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    directory = places.private(places.owners())
    held = lock(directory / f"{config.key}.lock")
    if held is None:
        _say("busy")
        return 0
    known = Catalogue(warn=log.warning).get(config.key)
    if known is not None:  # another owner may have made the session since we were asked for
        config.session_id = config.session_id or known.session_id
    address = directory / f"{config.key}.json"
    path = places.sockets() / f"{config.key}.sock"
    try:
        Address.end_leftovers(address)
        listener = _listen(path)
        here = Address(pid=os.getpid(), ticks=started_ticks(os.getpid()), socket=os.fspath(path))
        here.write(address)
        _say("ready")
        if config.command:
            os.chdir("/")  # whatever directory that was, it may be removed
        asyncio.run(_serve(config, listener, here, address))
        return 0
    except OSError as error:
        log.exception("the owner cannot work")
        _say(f"error {error}")
        return 1
    finally:
        path.unlink(missing_ok=True)
        address.unlink(missing_ok=True)
        if path.parent != directory:
            with contextlib.suppress(OSError):
                path.parent.rmdir()  # others may be there
        os.close(held)


def _listen(path: Path) -> socket.socket:
    places.private(path.parent)
    path.unlink(missing_ok=True)  # the lock says that nobody listens there
    listener = socket.socket(socket.AF_UNIX)
    mask = os.umask(0o177)
    try:
        listener.bind(os.fspath(path))
    except FileNotFoundError:  # another owner has just removed the empty directory
        places.private(path.parent)
        listener.bind(os.fspath(path))
    finally:
        os.umask(mask)
    listener.listen(MAX_CLIENTS)
    listener.setblocking(False)
    return listener


async def _serve(config: Config, listener: socket.socket, here: Address, address: Path) -> None:
    def agent_started(pid: int) -> None:
        here.agent_pid, here.agent_ticks = pid, started_ticks(pid)
        here.write(address)

    await Owner(config, listener, on_agent=agent_started).run()


def _say(text: str) -> None:
    """Tell whoever started us, once; afterwards stdout leads nowhere, so that they can go."""
    try:
        os.write(1, text.encode() + b"\n")
    except OSError:
        pass
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 0)
    os.close(nothing)


if __name__ == "__main__":
    started = time.monotonic()
    code = main()
    log.info("the owner ended after %d s", time.monotonic() - started)
    sys.exit(code)
