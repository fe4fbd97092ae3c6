"""A pool whose threads nobody waits for."""

import threading

import pytest

from acpella.agent.daemon_threads import MAX_THREADS, DaemonThreads

SOON = 10


def test_calls_give_their_results_and_errors() -> None:
    threads = DaemonThreads()
    assert threads.submit(divmod, 7, 2).result(SOON) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        threads.submit(divmod, 7, 0).result(SOON)
    assert list(threads.map(str, range(100))) == [str(number) for number in range(100)]
    threads.shutdown()


def test_no_more_threads_than_calls_and_a_bound_on_both() -> None:
    threads = DaemonThreads()
    go, names = threading.Event(), set[str]()

    def call() -> None:
        names.add(threading.current_thread().name)
        go.wait(SOON)

    calls = [threads.submit(call) for _ in range(MAX_THREADS * 2)]
    go.set()
    for running in calls:
        running.result(SOON)
    assert len(names) <= MAX_THREADS
    assert all(name.startswith("acpella worker ") for name in names)
    threads.shutdown()


def test_a_call_that_does_not_return_is_left_behind() -> None:
    threads = DaemonThreads()
    begun, go = threading.Event(), threading.Event()

    def call() -> threading.Thread:
        begun.set()
        go.wait(SOON)
        return threading.current_thread()

    running = threads.submit(call)
    assert begun.wait(SOON)
    threads.shutdown()  # returns
    assert not running.done()
    assert threads.idle == set()
    go.set()
    thread = running.result(SOON)
    assert thread.daemon
    thread.join(SOON)
    assert not thread.is_alive(), "a thread that was told to end does so after its call"
