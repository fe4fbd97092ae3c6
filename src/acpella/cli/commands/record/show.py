"""`acpella record show`: a recorded conversation as `chat` shows it."""

import argparse
from typing import TYPE_CHECKING, Any

from acpella._counted import counted

from ...file_errors import RECORDING, explain
from ...terminal.output import one_line, say, show

if TYPE_CHECKING:
    from acpella.recording import Item, RecordedFrame

    from ...terminal.transcript import Transcript

__all__ = ["declare", "run"]

DAMAGED = 1


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Show a recorded conversation as `acpella chat` shows it. Exit code 1: a part cannot be read."
    )
    parser.add_argument("file", metavar="FILE", help="the recording")
    parser.add_argument("-v", "--verbose", action="store_true", help="stderr and what is not a message, too")
    parser.add_argument(
        "--frames", action="store_true", help="a line for each frame instead of the conversation"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from acpella.recording.reader import is_written, read_any

    try:
        view = _Frames() if arguments.frames else _Conversation(verbose=arguments.verbose)
        for item in read_any(arguments.file):
            view.take(item)
        view.end(is_written=is_written(arguments.file))
    except (OSError, ValueError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        say(explain(error, missing=RECORDING))
        return 2
    if view.damaged:
        say(f"{counted(view.damaged, 'line')} of {arguments.file} cannot be read")
    return DAMAGED if view.damaged else 0


class _Shown:
    def __init__(self) -> None:
        self.damaged = 0
        self._begun = False
        self._ended = True

    def take(self, item: "Item") -> None:
        from acpella.recording import Begin, Damaged, RecordedFrame
        from acpella.recording.format import SNAPSHOT

        if not (self._begun or isinstance(item, Begin | Damaged)):
            self._begun = True
            self.note("the first line of the recording is missing")

        if isinstance(item, Damaged):
            self.damaged += 1
            self.note(f"line {item.line} cannot be read: {one_line(item.reason, 200)}")
        elif isinstance(item, Begin):
            self._check_end()
            self._begun = True
            self._ended = item.version < 2 or item.info.get("note") == SNAPSHOT
            self.begin(item.info)
        elif isinstance(item, RecordedFrame):
            self.frame(item)
        else:
            self._event(item.name, item.info)

    def _event(self, name: str, info: dict[str, Any]) -> None:
        from acpella._plain_json import as_dict, as_int

        if name == "gap":
            dropped = counted(as_int(info.get("dropped")), "frame")
            self.note(f"{dropped} not recorded here: the recorder was too slow")
        elif name == "end":
            self._ended = True
            if info.get("error"):
                self.note(f"the recording ended: {one_line(str(info['error']))}")
            elif info.get("exit") not in (None, {"code": 0}):
                self.note(f"the agent ended {_exit_words(as_dict(info['exit']))}")

    def _check_end(self, *, is_written: bool = False) -> None:
        if not self._ended:
            self.note(
                "the recording is still being written; look again when more of it is there"
                if is_written
                else "the recording breaks off here; it has no last line"
            )
            self._ended = True

    def end(self, *, is_written: bool) -> None:
        self._check_end(is_written=is_written)

    def note(self, text: str) -> None:
        raise NotImplementedError

    def begin(self, info: dict[str, Any]) -> None:
        raise NotImplementedError

    def frame(self, frame: "RecordedFrame") -> None:
        raise NotImplementedError


class _Frames(_Shown):
    """One line each, for `grep`."""

    def note(self, text: str) -> None:
        show(f"# {text}")

    def begin(self, info: dict[str, Any]) -> None:
        from acpella._plain_json import as_dict

        agent = info.get("agent")
        name = (
            agent if isinstance(agent, str) else as_dict(agent).get("command") or as_dict(agent).get("name")
        )
        show(one_line(f"# {info.get('started', '')} {name or ''}"))

    def frame(self, frame: "RecordedFrame") -> None:
        arrow = {"out": "→", "in": "←", "err": "!"}[frame.direction]
        show(f"{frame.time:10.3f} {arrow} {one_line(_sent(frame), 2000)}")


def _sent(frame: "RecordedFrame") -> str:
    """What was sent, as far as it can be shown."""
    import msgspec

    if frame.raw is not None:
        return frame.raw
    if isinstance(frame.message, bytes):
        return f"(not text) {frame.message.decode('utf-8', 'backslashreplace')}"
    return frame.message if isinstance(frame.message, str) else msgspec.json.encode(frame.message).decode()


class _Conversation(_Shown):
    def __init__(self, *, verbose: bool) -> None:
        super().__init__()
        self._verbose = verbose
        self._screen: Transcript | None = None
        self._asked: dict[tuple[str, str], tuple[str, Any]] = {}

    def note(self, text: str) -> None:
        if self._screen is None:
            show(f"[{text}]")
        else:
            self._screen.note([(f"[{text}]", "dim")])  # the turn goes on, with its open tool calls

    def begin(self, info: dict[str, Any]) -> None:
        self._flush()
        self._asked.clear()

    def end(self, *, is_written: bool) -> None:
        self._flush()
        super().end(is_written=is_written)

    def frame(self, frame: "RecordedFrame") -> None:
        from acpella._plain_json import as_dict
        from acpella.recording.shape import kind_of

        kind = kind_of(frame.message)
        message = as_dict(frame.message)
        if kind == "noise":
            if self._verbose:
                what = "stderr" if frame.direction == "err" else "not a message"
                self.note(f"{what}: {one_line(_sent(frame))}")
        elif kind == "request":
            self._asked[frame.direction, repr(message["id"])] = str(message["method"]), message.get("params")
            if message["method"] == "session/prompt":
                self._prompt(as_dict(message.get("params")))
            elif self._verbose:
                self.note(
                    f"{'client' if frame.direction == 'out' else 'agent'}: {one_line(message['method'])}"
                )
        elif kind == "notification":
            if message["method"] == "session/update":
                self._update(message.get("params"))
            elif message["method"] == "session/cancel":
                self.note("cancelled by the client")
        else:
            self._answer(frame, message)

    def _prompt(self, params: dict[str, Any]) -> None:
        blocks: list[Any] = params.get("prompt") or []
        for block in blocks:
            self._update(
                {"sessionId": "", "update": {"sessionUpdate": "user_message_chunk", "content": block}}
            )

    def _update(self, params: Any) -> None:
        import msgspec

        from acpella.schema import SessionNotification, decode

        from ...terminal.transcript import Transcript

        try:
            update = decode(SessionNotification, msgspec.json.encode(params)).update
        except (msgspec.MsgspecError, ValueError):
            self.note("an update that cannot be understood")
            return
        if self._screen is None:
            self._screen = Transcript()
        self._screen.update(update)

    def _answer(self, frame: "RecordedFrame", message: dict[str, Any]) -> None:
        from acpella._plain_json import as_dict

        asker = "out" if frame.direction == "in" else "in"
        method, params = self._asked.pop((asker, repr(message["id"])), ("", None))
        if "error" in message and message["error"] is not None:
            reason = one_line(str(as_dict(message["error"]).get("message", "")))
            self.note(f"{method or 'a request'} failed: {reason}")
        elif method == "session/prompt":
            stop = as_dict(message.get("result")).get("stopReason")
            if stop not in (None, "end_turn"):
                self.note(one_line(str(stop)))
            self._flush()
        elif method == "session/request_permission":
            title = as_dict(as_dict(params).get("toolCall")).get("title") or "permission"
            outcome = as_dict(as_dict(message.get("result")).get("outcome"))
            self.note(
                f"{one_line(str(title))}: {one_line(str(outcome.get('optionId') or outcome.get('outcome')))}"
            )

    def _flush(self) -> None:
        if self._screen is not None:
            self._screen.end()
            self._screen = None


def _exit_words(exit: dict[str, Any]) -> str:
    from acpella._plain_json import as_int
    from acpella._processes import signal_name

    if "signal" in exit:
        return f"by {signal_name(as_int(exit['signal']))}"
    return f"with code {one_line(str(exit.get('code')))}"
