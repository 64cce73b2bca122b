"""Live source: asks, tells snapshots, and ends."""

from __future__ import annotations

import queue
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from replicator.config.topology import load
from tui.facts.snapshot import Snapshot
from tui.facts.watch.inventory import Inventory
from tui.facts.watch.live_source import LiveSource
from tui.facts.watch.question import Answers, Key, Question
from tui.facts.watch.spotlight import Spotlight

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
