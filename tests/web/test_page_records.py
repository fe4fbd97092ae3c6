"""What people decided about sessions outlives the server."""

from pathlib import Path

from acpella.web.shared.records import MAX_RECORDS, SessionRecords, SharedSessionRecord


def test_the_last_word_on_a_session_counts_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "state" / "sessions.jsonl"
    records = SessionRecords(file)
    records.save(SharedSessionRecord(owner="mira", session="s1", name="First"))
    records.save(SharedSessionRecord(owner="mira", session="s1", name="Second", guests={"jonas": "observer"}))
    records.save(SharedSessionRecord(owner="mira", session="s2"))
    records.delete("mira", "s2")
    again = SessionRecords(file)
    assert [(one.name, one.guests) for one in again.of("mira")] == [("Second", {"jonas": "observer"})]
    assert [one.session for one in again.shared_with("jonas")] == ["s1"]
    assert file.stat().st_mode & 0o077 == 0


def test_a_new_session_takes_nothing_over_from_an_earlier_one_with_its_id(tmp_path: Path) -> None:
    records = SessionRecords(tmp_path / "sessions.jsonl")
    records.save(SharedSessionRecord(owner="mira", session="s1", guests={"priya": "controller"}))
    records.made("s1")
    assert records.shared_with("priya") == []
    assert SessionRecords(tmp_path / "sessions.jsonl").get("mira", "s1") is None


def test_half_a_line_and_a_long_file_are_mended(tmp_path: Path) -> None:
    file = tmp_path / "sessions.jsonl"
    records = SessionRecords(file)
    for number in range(400):
        records.save(SharedSessionRecord(owner="mira", session="s1", name=f"name {number}"))
    with file.open("ab") as end:
        end.write(b'{"owner":"mira","sess')
    again = SessionRecords(file)
    assert [one.name for one in again] == ["name 399"]
    assert len(file.read_bytes().splitlines()) == 1


def test_the_oldest_records_leave(tmp_path: Path) -> None:
    records = SessionRecords()
    for number in range(MAX_RECORDS + 1):
        records.save(SharedSessionRecord(owner="mira", session=str(number)))
    assert records.get("mira", "0") is None and records.get("mira", str(MAX_RECORDS)) is not None


def test_a_disk_that_takes_nothing_does_not_stop_the_server(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    records = SessionRecords(tmp_path / "file" / "sessions.jsonl")
    records.save(SharedSessionRecord(owner="mira", session="s1", name="Here"))
    assert [one.name for one in records] == ["Here"]
