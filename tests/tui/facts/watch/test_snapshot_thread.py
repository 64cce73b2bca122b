"""Stream of snapshots: after news, not more often than it should, and never ended by an error."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from tui.facts.snapshot import Snapshot
from tui.facts.watch.live_source import SnapshotThread
from tui.facts.watch.question import Answers, Key, Question
from tui.facts.watch.watcher import Watcher

WEST = Key("west regional", "topics")


def made(_: Answers, now: float) -> Snapshot:
    return Snapshot(taken_at=now)


@contextmanager
def snapshots(
    tell: Any,
    make: Any = made,
    cadence: float = 3600.0,
    interval: float = 0.01,
    on_problem: Any = lambda _: None,
) -> Iterator[tuple[Watcher, SnapshotThread]]:
    numbers = count()
    question = Question(key=WEST, cadence_seconds=cadence, ask=lambda: next(numbers))
    watcher = Watcher([question], 30.0)
    found = SnapshotThread(watcher, make, tell, interval, on_problem)
    watcher.start()
    found.start()
    try:
        yield watcher, found
    finally:
        found.close()
        watcher.close()


def test_a_snapshot_is_told_before_any_answer_and_another_after_news() -> None:
    told: queue.Queue[Snapshot] = queue.Queue()
    with snapshots(told.put) as (watcher, _):
        first = told.get(timeout=30)
        watcher.ask_now()
        assert told.get(timeout=30).taken_at > first.taken_at


def test_snapshots_come_no_faster_than_the_interval() -> None:
    told: queue.Queue[float] = queue.Queue()
    with snapshots(lambda _: told.put(time.monotonic()), cadence=0.0, interval=0.1):
        times = [told.get(timeout=30) for _ in range(3)]
    assert times[1] - times[0] >= 0.1
    assert times[2] - times[1] >= 0.1


def test_a_snapshot_can_be_asked_for() -> None:
    told: queue.Queue[Snapshot] = queue.Queue()
    with snapshots(told.put, interval=3600.0) as (_, found):
        told.get(timeout=30)
        found.make_now()
        told.get(timeout=30)


def test_an_error_is_told_once_and_its_end_too_and_it_ends_nothing() -> None:
    told: queue.Queue[Snapshot] = queue.Queue()
    problems: queue.Queue[str] = queue.Queue()
    failures = iter([ValueError("no such field")] * 3)

    def make(answers: Answers, now: float) -> Snapshot:
        for failure in failures:
            raise failure
        return made(answers, now)

    with snapshots(told.put, make, cadence=0.0, on_problem=problems.put) as (_, found):
        told.get(timeout=30)
        assert problems.get(timeout=30) == "ValueError: no such field"
        assert problems.get(timeout=30) == ""
        assert problems.empty()
        assert found.problem == ""


def test_the_end_is_immediate() -> None:
    with snapshots(lambda _: None, interval=3600.0) as (_, found):
        began = time.monotonic()
        found.close()
        assert time.monotonic() - began < 1
