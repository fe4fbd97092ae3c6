"""What every store does."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from acpella.sessions import (
    Event,
    Fenced,
    InvalidCursor,
    Lease,
    SessionChanges,
    SessionExists,
    SessionNotFound,
    SessionRecord,
    Store,
    StoreError,
)
from acpella.sessions.store import EventKind

pytestmark = pytest.mark.anyio

Pairs = list[tuple[EventKind, bytes]]


def record(name: str = "a", cwd: str = "/x", **more: Any) -> SessionRecord:
    return SessionRecord(id=name, cwd=cwd, **more)


def numbered(first: int, last: int) -> Pairs:
    return [("update", b'{"n":%d}' % n) for n in range(first, last + 1)]


async def read_all(store: Store, name: str = "a", **options: Any) -> list[Event]:
    return [event async for piece in store.read(name, **options) for event in piece]


async def ids(store: Store, **options: Any) -> list[str]:
    return [found.id for found in (await store.list(**options)).sessions]


async def test_a_created_session_can_be_found(store: Store) -> None:
    await store.create(
        record(title="Hallo, Wëlt 🎉", state={"a": [1, None]}, settings={"mode": "ask"}), numbered(1, 2)
    )
    found = await store.get("a")
    assert (found.id, found.cwd, found.principal, found.title) == ("a", "/x", "", "Hallo, Wëlt 🎉")
    assert (found.state, found.settings, found.last_seq) == ({"a": [1, None]}, {"mode": "ask"}, 2)
    assert found.created_at == found.updated_at
    assert len(found.created_at) == len("2026-01-02T03:04:05.123456Z") and found.created_at.endswith("Z")


async def test_an_id_is_given_once(store: Store) -> None:
    await store.create(record(title="first"))
    with pytest.raises(SessionExists, match="'a'"):
        await store.create(record(title="second", principal="other"))
    assert (await store.get("a")).title == "first"


async def test_given_times_are_kept_in_one_spelling(store: Store) -> None:
    await store.create(record(created_at="2025-03-01T10:00:00+01:00", updated_at="2025-03-02T00:00:00Z"))
    found = await store.get("a")
    assert found.created_at == "2025-03-01T09:00:00.000000Z"
    assert found.updated_at == "2025-03-02T00:00:00.000000Z"


async def test_events_are_read_in_order_without_gaps(store: Store) -> None:
    lease = await store.create(record(), numbered(1, 3))
    assert await store.append(lease, 3, [("update", b"\x00\xff not json"), ("turn", b"{}")]) == 5
    assert await store.append(lease, 5, numbered(6, 1300)) == 1300
    events = await read_all(store)
    assert [event.seq for event in events] == list(range(1, 1301))
    assert events[2] == Event(3, "update", b'{"n":3}')
    assert events[3] == Event(4, "update", b"\x00\xff not json")
    assert events[4] == Event(5, "turn", b"{}")
    assert events[-1] == Event(1300, "update", b'{"n":1300}')
    assert isinstance(events[0], Event)


async def test_reading_can_start_after_any_event(store: Store) -> None:
    await store.create(record(), numbered(1, 10))
    assert [event.seq for event in await read_all(store, after=7)] == [8, 9, 10]
    assert await read_all(store, after=10) == []
    assert await read_all(store, after=99) == []


async def test_an_empty_log_gives_no_pieces(store: Store) -> None:
    await store.create(record())
    assert await read_all(store) == []


async def test_pieces_are_small(store: Store) -> None:
    await store.create(record(), numbered(1, 1200))
    assert [len(piece) async for piece in store.read("a")] == [500, 500, 200]


async def test_a_read_ends_where_the_log_ended_when_it_began(store: Store) -> None:
    lease = await store.create(record(), numbered(1, 600))
    pieces = store.read("a")
    first = await anext(pieces)
    await store.append(lease, 600, numbered(601, 700))
    rest = [event async for piece in pieces for event in piece]
    assert [event.seq for event in first + rest] == list(range(1, 601))


async def test_a_read_notices_that_the_session_was_deleted(store: Store) -> None:
    await store.create(record(), numbered(1, 600))
    pieces = store.read("a")
    await anext(pieces)
    await store.delete("a")
    events: list[tuple[EventKind, bytes]] = [("update", b"another")] * 600
    await store.create(record(), events)
    with pytest.raises(SessionNotFound):
        await anext(pieces)


async def test_an_append_changes_only_what_it_names(store: Store) -> None:
    lease = await store.create(record(title="old", state={"a": 1}, settings={"mode": "ask"}))
    await store.append(lease, 0, numbered(1, 1), SessionChanges(title="new", state={}))
    found = await store.get("a")
    assert (found.title, found.state, found.settings, found.cwd) == ("new", {}, {"mode": "ask"}, "/x")
    await store.append(lease, 1, [], SessionChanges(cwd="/y", settings={"mode": "code"}))
    found = await store.get("a")
    assert (found.title, found.settings, found.cwd, found.last_seq) == ("new", {"mode": "code"}, "/y", 1)
    assert await ids(store, cwd="/y") == ["a"] and await ids(store, cwd="/x") == []


async def test_an_append_sets_the_time_of_change(store: Store) -> None:
    lease = await store.create(record())
    before = await store.get("a")
    await store.append(lease, 0, numbered(1, 1))
    after = await store.get("a")
    assert after.updated_at > before.updated_at and after.created_at == before.created_at


async def test_what_is_kept_is_no_longer_the_callers(store: Store) -> None:
    state: dict[str, Any] = {"list": [1]}
    lease = await store.create(record(state=state))
    state["list"].append(2)
    assert (await store.get("a")).state == {"list": [1]}
    changed: dict[str, Any] = {"n": 1}
    append = asyncio.ensure_future(store.append(lease, 0, [], SessionChanges(state=changed)))
    await asyncio.sleep(0)  # handed over, perhaps still queued
    changed["n"] = 2
    await append
    found = await store.get("a")
    assert found.state == {"n": 1}
    found.state["n"] = 3
    assert (await store.get("a")).state == {"n": 1}


async def test_state_that_is_not_json_is_refused_and_changes_nothing(store: Store) -> None:
    lease = await store.create(record())
    with pytest.raises(StoreError, match="state of session 'a'.*JSON"):
        await store.append(lease, 0, numbered(1, 1), SessionChanges(state={"x": object()}))
    with pytest.raises(StoreError, match="settings of session 'b'"):
        await store.create(record("b", settings={"x": object()}))
    assert (await store.get("a")).last_seq == 0 and await read_all(store) == []
    assert await ids(store) == ["a"]


async def test_repeating_an_append_that_had_succeeded_changes_nothing(store: Store) -> None:
    lease = await store.create(record())
    events = numbered(1, 3)
    assert await store.append(lease, 0, events, SessionChanges(title="t")) == 3
    before = await store.get("a")
    assert await store.append(lease, 0, events, SessionChanges(title="t")) == 3
    assert await store.get("a") == before
    assert len(await read_all(store)) == 3


async def test_an_append_at_the_wrong_place_is_refused(store: Store) -> None:
    lease = await store.create(record(), numbered(1, 3))
    for expected, events in ((0, numbered(7, 9)), (2, numbered(3, 9)), (4, numbered(5, 5)), (1, [])):
        with pytest.raises(Fenced, match=f"is at 3, not at {expected}"):
            await store.append(lease, expected, events)
    assert len(await read_all(store)) == 3


async def test_whoever_acquires_a_session_fences_the_one_before(store: Store) -> None:
    old = await store.create(record())
    new = await store.acquire("a")
    assert new.epoch > old.epoch
    with pytest.raises(Fenced, match="'a'"):
        await store.append(old, 0, numbered(1, 1))
    await store.release(old)  # must not give away what is another's
    assert await store.append(new, 0, numbered(1, 1)) == 1
    assert len(await read_all(store)) == 1


async def test_a_released_session_cannot_be_written_and_comes_back(store: Store) -> None:
    lease = await store.create(record())
    await store.release(lease)
    await store.release(lease)
    with pytest.raises(Fenced):
        await store.append(lease, 0, numbered(1, 1))
    assert await store.append(await store.acquire("a"), 0, numbered(1, 1)) == 1


async def test_an_unknown_session_is_not_found(store: Store) -> None:
    for call in (
        store.get("nope"),
        store.acquire("nope"),
        store.append(Lease("nope", 1), 0, []),
        store.fork("nope", record()),
        store.delete("nope"),
        read_all(store, "nope"),
    ):
        with pytest.raises(SessionNotFound, match="no session 'nope'"):
            await call
    await store.release(Lease("nope", 1))
    assert await ids(store) == []


async def test_a_foreign_principal_sees_nothing(store: Store) -> None:
    await store.create(record(principal="eve"), numbered(1, 1))
    for principal in ("", "bob"):
        for call in (
            store.get("a", principal=principal),
            store.acquire("a", principal=principal),
            store.fork("a", record("b"), principal=principal),
            store.delete("a", principal=principal),
            read_all(store, principal=principal),
        ):
            with pytest.raises(SessionNotFound):
                await call
        assert await ids(store, principal=principal) == []
    assert await ids(store, principal="eve") == ["a"]
    assert len(await read_all(store, principal="eve")) == 1


async def test_a_fork_is_a_copy_of_its_own(store: Store) -> None:
    lease = await store.create(
        record(title="t", state={"s": 1}, settings={"m": 2}, principal="p"), numbered(1, 700)
    )
    forked = await store.fork("a", record("b", cwd="/y", principal="p"), principal="p")
    await store.append(lease, 700, [("update", b"in a")], SessionChanges(state={"s": 9}))
    await store.append(forked, 700, [("update", b"in b")])
    found = await store.get("b", principal="p")
    assert (found.title, found.state, found.settings, found.cwd) == ("t", {"s": 1}, {"m": 2}, "/y")
    ours, theirs = [await read_all(store, name, principal="p") for name in "ab"]
    assert ours[:700] == theirs[:700]
    assert (ours[700].body, theirs[700].body) == (b"in a", b"in b")
    await store.delete("a", principal="p")
    assert len(await read_all(store, "b", principal="p")) == 701


async def test_a_fork_takes_no_id_that_is_taken(store: Store) -> None:
    await store.create(record("a"), numbered(1, 2))
    await store.create(record("b"))
    with pytest.raises(SessionExists):
        await store.fork("a", record("b"))
    assert await read_all(store, "b") == []


async def test_a_deleted_session_is_gone_for_good(store: Store) -> None:
    lease = await store.create(record(), numbered(1, 3))
    await store.delete("a")
    with pytest.raises(SessionNotFound):
        await store.append(lease, 3, numbered(4, 4))
    with pytest.raises(SessionNotFound):
        await store.delete("a")
    assert await ids(store) == [] and await ids(store, cwd="/x") == []


async def test_the_lease_of_a_deleted_session_does_not_fit_a_new_one_of_its_name(store: Store) -> None:
    old = await store.create(record())
    await store.delete("a")
    await store.create(record())
    with pytest.raises(Fenced):
        await store.append(old, 0, numbered(1, 1))


async def test_lists_are_newest_change_first(store: Store) -> None:
    leases = [await store.create(record(name)) for name in "abc"]
    assert await ids(store) == ["c", "b", "a"]
    await store.append(leases[0], 0, numbered(1, 1))
    assert await ids(store) == ["a", "c", "b"]


async def test_lists_filter_by_directory(store: Store) -> None:
    for n in range(6):
        await store.create(record(f"s{n}", cwd=f"/{n % 2}"))
    assert await ids(store, cwd="/1") == ["s5", "s3", "s1"]
    assert await ids(store, cwd="/none") == []


@pytest.mark.parametrize("cwd", [None, "/x"])
async def test_pages_together_give_every_session_once(store: Store, cwd: str | None) -> None:
    for n in range(23):
        # the same time for all: the id decides
        await store.create(record(f"s{n:02}", updated_at="2025-01-01T00:00:00Z"))
    cursor, seen, sizes = None, [], []
    while True:
        page = await store.list(cwd=cwd, cursor=cursor, limit=5)
        seen += [found.id for found in page.sessions]
        sizes.append(len(page.sessions))
        if (cursor := page.next_cursor) is None:
            break
    assert sizes == [5, 5, 5, 5, 3]
    assert seen == [f"s{n:02}" for n in reversed(range(23))]


async def test_a_last_page_that_is_full_has_no_successor(store: Store) -> None:
    for name in "abcd":
        await store.create(record(name))
    first = await store.list(limit=2)
    assert (await store.list(limit=2, cursor=first.next_cursor)).next_cursor is None


async def test_deleting_between_pages_loses_nothing(store: Store) -> None:
    for name in "abcd":
        await store.create(record(name))
    page = await store.list(limit=2)
    await store.delete("c")  # the one the cursor points to
    assert await ids(store, cursor=page.next_cursor) == ["b", "a"]


@pytest.mark.parametrize(
    "cursor", ["", "x", "äöü", "e30", "WzEsMiwzXQ", "WzksIjIwMjUtMDEtMDFUMDA6MDA6MDBaIiwiYSJd", "A" * 100_000]
)
async def test_a_cursor_from_elsewhere_is_refused(store: Store, cursor: str) -> None:
    with pytest.raises(InvalidCursor, match="did not come from this list"):
        await store.list(cursor=cursor)


async def test_pages_are_bounded(store: Store) -> None:
    await asyncio.gather(*(store.create(record(f"s{n}")) for n in range(1001)))
    assert len((await store.list(limit=10**9)).sessions) == 1000
    with pytest.raises(ValueError, match="at least one"):
        await store.list(limit=0)


async def test_two_hundred_tasks_append_at_once(store: Store) -> None:
    async def write(name: str) -> None:
        lease, last = await store.create(record(name)), 0
        for _ in range(10):
            last = await store.append(lease, last, numbered(last + 1, last + 3))

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        for n in range(200):
            group.create_task(write(f"s{n}"))
    for n in range(200):
        assert [(event.seq, event.body) for event in await read_all(store, f"s{n}")] == [
            (seq, b'{"n":%d}' % seq) for seq in range(1, 31)
        ]


async def test_of_two_that_append_at_the_same_place_one_wins(store: Store) -> None:
    lease = await store.create(record())
    results = await asyncio.gather(
        *(store.append(lease, 0, [("update", b"%d" % n)]) for n in range(20)), return_exceptions=True
    )
    assert [result for result in results if not isinstance(result, Fenced)] == [1]
    assert len(await read_all(store)) == 1


def every_call(store: Store) -> list[Any]:
    lease = Lease("a", 1)
    return [
        store.create(record()),
        store.get("a"),
        store.list(),
        store.acquire("a"),
        store.release(lease),
        store.append(lease, 0, []),
        read_all(store),
        store.fork("a", record("b")),
        store.delete("a"),
    ]


async def test_after_close_every_call_says_so(store: Store) -> None:
    await store.create(record())
    await store.close()
    await store.close()
    for call in [*every_call(store), store.open()]:
        with pytest.raises(StoreError, match="^the store is closed$"):
            await call


async def test_before_open_every_call_says_so(new_store: Callable[[], Store]) -> None:
    store = new_store()
    for call in every_call(store):
        with pytest.raises(StoreError, match="^the store is not open yet$"):
            await call
    await store.close()
