"""The process of a daemon: its start, its hold on the session, its end."""

import asyncio
import logging
import os
import sys
import time

import msgspec

from ..state.catalogue import Catalogue
from .client import Config
from .daemon import Daemon
from .lock import SessionLock

__all__ = ["main"]

log: logging.Logger = logging.getLogger(__name__)


def main() -> int:
    """`python -m acpella.cli.daemon.process`, a `Config` on stdin; tells on stdout when it can be reached."""
    config = msgspec.json.decode(sys.stdin.buffer.read(), type=Config)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        hold = SessionLock.take(config.key)
    except OSError as error:
        return _fail(error)
    if hold is None:
        _say("busy")
        return 0
    try:
        entry = Catalogue(warn=log.warning).get(config.key)
        if entry is not None:  # another daemon may have made the session since we were asked for
            config.session_id = config.session_id or entry.session_id
        _say("ready")
        if config.command:
            os.chdir("/")  # whatever directory that was, it may be removed
        asyncio.run(_serve(config, hold))
        return 0
    except OSError as error:
        return _fail(error)
    finally:
        hold.release()


async def _serve(config: Config, hold: SessionLock) -> None:
    await Daemon(config, hold.listener, on_agent=hold.tell_agent).run()


def _fail(error: OSError) -> int:
    log.exception("the daemon cannot work")
    _say(f"error {error}")
    return 1


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
    started: float = time.monotonic()
    code: int = main()
    log.info("the daemon ended after %d s", time.monotonic() - started)
    sys.exit(code)
