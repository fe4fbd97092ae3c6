"""Who reads the streams of a connection, and from where."""

import pytest

from acpella.rpc.relay import Frame
from acpella.server import Credential
from acpella.server.connection.hosted import UnknownSession
from acpella.server.connection.messages import Message
from acpella.server.connection.outbox import OutboxReader, OutOfWindow, Taken
from acpella.server.connection.pending import PendingTables
from acpella.server.connection.profile import HTTP, SESSION_HEADER, Profile
from acpella.server.connection.readers import LocalAnswer, Readers
from unit.server.parts import Streaming, audit, request, services, update

ADA = Credential("ada")


class Reading:
    """The readers of a connection that nobody serves."""

    def __init__(self, profile: Profile = HTTP) -> None:
        self.streaming = Streaming(profile)
        self.streams = self.streaming.streams
        self.pending = PendingTables(lambda data: None)
        self.services = services()
        self.readers = Readers(self.services, self.streams, self.pending, profile, audit=audit())

    def attach(
        self, session_id: str | None = None, cursor: str | None = None, *, confirms: bool = False
    ) -> OutboxReader:
        return self.readers.attach(
            ADA,
            session_id=session_id,
            cursor=cursor,
            confirms=confirms,
            take_over=confirms,
            abort=None,
            can_load=False,
        )

    def answer(self, message: Message, credential: Credential = ADA) -> LocalAnswer:
        stream, reader = self.readers.open_answer(message, credential, abort=None)
        return LocalAnswer(self.readers, stream, reader, detach=self.detach)

    def detach(self, reader: OutboxReader) -> None:
        self.readers.release(reader)

    def resumed(self, outcome: str) -> float:
        return self.services.metrics.value("acpella_resumed_total", f'outcome="{outcome}"')


def messages(reader: OutboxReader) -> list[bytes]:
    return reader.take(1 << 20)[1]


def test_a_reader_goes_on_after_the_event_that_it_names() -> None:
    reading = Reading()
    reading.streams.main.put([b"a", b"b", b"c"])
    assert messages(reading.attach(cursor="gen-1")) == [b"b", b"c"]
    assert (reading.resumed("resumed"), reading.resumed("lost")) == (1, 0)


@pytest.mark.parametrize("cursor", ["gen-4", "other-1", "gen-1.1"])
def test_a_cursor_that_leads_nowhere_is_told(cursor: str) -> None:
    reading = Reading()
    reading.streams.main.put([b"a", b"b", b"c"])
    with pytest.raises(OutOfWindow):
        reading.attach(cursor=cursor)
    assert reading.resumed("lost") == 1 and not len(reading.readers)


def test_a_client_that_confirms_may_take_over_and_misses_nothing() -> None:
    reading = Reading()
    reading.streams.main.be_lossless()
    first = reading.attach(confirms=True)
    reading.streams.main.put([b"a"])
    assert messages(first) == [b"a"]
    with pytest.raises(Taken):
        reading.attach()
    second = reading.attach(confirms=True)
    assert first.taken_over and messages(second) == [b"a"]
    assert reading.readers.release(first) and not reading.readers.release(first)
    assert len(reading.readers) == 1


def test_only_sessions_of_the_connection_have_a_stream() -> None:
    reading = Reading()
    with pytest.raises(UnknownSession):
        reading.attach("s")
    reading.streams.know("s")
    reader = reading.attach("s")
    reading.streams.put([update("s")], lambda line: None)
    assert messages(reader) == [update("s")]


def test_the_stream_of_a_made_up_session_goes_with_its_reader() -> None:
    reading = Reading()
    reader = reading.readers.attach(
        ADA, session_id="s", cursor=None, confirms=False, take_over=False, abort=None, can_load=True
    )
    assert "s" in reading.streams.by_session
    reading.readers.release(reader)
    assert "s" not in reading.streams.by_session


def test_who_reads_with_a_credential_that_has_ended_is_told_then_cut_off() -> None:
    reading = Reading()
    revoked = False
    aborted: list[bool] = []
    reader = reading.readers.attach(
        Credential("ada", revoked=lambda: revoked),
        session_id=None,
        cursor=None,
        confirms=False,
        take_over=False,
        abort=lambda: aborted.append(True),
        can_load=False,
    )
    reading.readers.check_credentials()
    assert not reader.ended
    revoked = True
    reading.readers.check_credentials()
    assert reader.why == "the token was revoked" and not aborted
    reading.readers.check_credentials()
    assert aborted


# -- streams of single answers -----------------------------------------------------------------------


def test_the_stream_of_an_answer_ends_with_it() -> None:
    reading = Reading(SESSION_HEADER)
    answer = reading.answer(request(1, "session/prompt", {"sessionId": "s"}))
    answer.answered(b"done")
    assert messages(answer.reader) == [b"done"] and answer.reader.over
    answer.end(complete=True)
    assert not len(reading.readers)


def test_an_answer_whose_stream_broke_waits_for_a_client_that_comes_back() -> None:
    reading = Reading(SESSION_HEADER)
    prompt = request(1, "session/prompt", {"sessionId": "s"})
    answer = reading.answer(prompt)
    reading.pending.forward(prompt, lambda response: answer.answered(response.data))
    reading.streams.stream_for("s").put([b"one", b"two"])
    assert messages(answer.reader) == [b"one", b"two"]
    # it comes back and says that it has one of them, before anybody noticed that it had gone
    reader = reading.attach(cursor=f"gen-{answer.number}.1")
    assert messages(reader) == [b"two"]
    response = Frame(b"done", "response", id=b"1")
    pending = reading.pending.answered(response)
    assert pending is not None
    pending.reply(response)
    assert messages(reader) == [b"done"]
    answer.end(complete=False)
    assert messages(reader) == []
