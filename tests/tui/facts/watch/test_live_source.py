"""Live source: which questions it asks, and how their answers become snapshots."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from replicator.config.topology import load
from tests.tui.facts.watch.told import NOW, appliance
from tui.facts.snapshot import Snapshot
from tui.facts.watch.inventory import Inventory, routes_inventory, whole_inventory
from tui.facts.watch.live_source import LiveSource, SnapshotThread
from tui.facts.watch.question import Answers, Key, Question
from tui.facts.watch.spotlight import Spotlight
from tui.facts.watch.watcher import Watcher

# --- Live source: asks, tells snapshots, and ends.

REFERENCE = str(Path(__file__).parents[4] / "deploy" / "appliance.toml")
KEY = Key("east Redis", "reports")
FOCUS = SimpleNamespace(topic=("west>east", "orders"), group=None)


class Server:
    """Server of a test: counts how often it is asked, and what was on screen then."""

    def __init__(self) -> None:
        self.asked = 0
        self.topics: list[Any] = []
        self.is_closed = False

    def inventory(self, appliance: object, timeout_seconds: float, spotlight: Spotlight) -> Any:
        def ask() -> int:
            self.asked += 1
            self.topics.append(spotlight.topic)
            return self.asked

        def close() -> None:
            self.is_closed = True

        question = Question(
            key=KEY, cadence_seconds=3600.0, ask=ask, close=close, follows_focus=True
        )
        return Inventory((question,), SimpleNamespace(snapshot=snapshot))


def snapshot(answers: Answers, now: float) -> Snapshot:
    """Returns a snapshot that tells the number of answers."""
    return Snapshot(taken_at=float(answers.value(KEY) or 0))


@pytest.fixture
def server() -> Server:
    return Server()


def await_number(told: queue.Queue[Snapshot], number: int) -> None:
    while told.get(timeout=30).taken_at != number:
        pass


def test_snapshots_are_told_when_asked_and_when_something_else_is_on_screen(
    server: Server,
) -> None:
    told: queue.Queue[Snapshot] = queue.Queue()
    source = LiveSource(load(REFERENCE), 5.0, server.inventory)
    source.set_focus(SimpleNamespace(topic=None, group=None))
    source.start(told.put)
    await_number(told, 1)
    source.ask_now()
    await_number(told, 2)
    source.set_focus(FOCUS)
    await_number(told, 3)
    assert server.topics == [None, None, ("west>east", "orders")]
    source.close()


def test_a_source_that_never_began_can_be_closed(server: Server) -> None:
    LiveSource(load(REFERENCE), 5.0, server.inventory).close()
    assert server.asked == 0


# --- Inventory: everything that is asked, each server and subject once.

BOTH = appliance("east", "west")


def test_all_questions_differ_and_come_after_those_that_they_need() -> None:
    for spotlight in (None, Spotlight()):
        seen: set[Key] = set()
        for question in whole_inventory(BOTH, 3.0, spotlight).questions:
            assert question.key not in seen
            assert {*question.needs, *question.waits_for} <= seen
            seen.add(question.key)


def test_a_single_look_asks_nothing_that_only_a_screen_needs() -> None:
    once = {each.key for each in whole_inventory(BOTH, 3.0).questions}
    watched = {each.key for each in whole_inventory(BOTH, 3.0, Spotlight()).questions}
    assert once < watched
    assert not any("on screen" in key.about or "past traffic" in key.about for key in once)


def test_before_any_answer_the_snapshot_knows_nothing() -> None:
    snapshot = whole_inventory(BOTH, 3.0).assembly.snapshot(Answers({}), NOW)
    assert [each.region for each in snapshot.regions] == ["east", "west"]
    assert [each.route for each in snapshot.routes] == [each.name for each in BOTH.routes]
    assert (snapshot.groups, snapshot.events, snapshot.audits) == (None, None, None)


def test_one_route_asks_its_target_and_all_sources_of_that_target() -> None:
    found = routes_inventory(BOTH, [BOTH.route("west>east")], 3.0)
    assert {each.key.server for each in found.questions} == {
        "east regional",
        "west regional",
        "east aggregate",
        "east Redis",
    }
    snapshot = found.assembly.snapshot(Answers({}), NOW)
    assert [each.region for each in snapshot.regions] == ["east"]
    assert [each.route for each in snapshot.routes] == ["west>east"]


def test_one_look_at_servers_that_refuse_makes_a_snapshot_that_says_so() -> None:
    snapshot = routes_inventory(BOTH, [BOTH.route("west>east")], 3.0).snapshot(3.0)
    (east,) = snapshot.regions
    assert (east.aggregate, east.redis) == ("silent", "silent")
    assert any(text.startswith("east aggregate: ") for text in snapshot.problems)


# --- Stream of snapshots: after news, not more often than it should, and never ended by an error.

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
