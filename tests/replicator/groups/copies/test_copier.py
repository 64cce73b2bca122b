"""Loop of the copier, between a tailer and a store that fail by a script."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from replicator.groups.copies.copier import RETRY_SECONDS_MAX, RETRY_SECONDS_MIN, Copier
from replicator.kafka.tail.stored_positions import StoreBehind
from replicator.kafka.tail.tail_position import Portion, TailPosition
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.runtime.store_errors import StoreUnreachable
from tests.replicator.groups.recorded_waits import RecordedWaits

BEGIN = TailPosition("topic", 0)
BEGINNING = {0: Portion(BEGIN, BEGIN)}
NEWS = {0: Portion(BEGIN, BEGIN, caught_up_ms=1)}


class Stage:
    """Tailer, store and retry clock in one; stops the copier at the end of its script.

    The script has one list for each call of follow(): the items that the call yields or raises.
    """

    name = "stage"

    def __init__(self, *script: list[dict[int, Portion] | Exception]) -> None:
        self.put_failures: list[Exception | None] = []
        self.taken: list[dict[int, Portion]] = []
        self.stops_with_first_put = False
        self.script = list(script)
        self.stopping = RecordedWaits()
        self.copier = Copier(self, self, self.stopping)

    def position(self) -> dict[int, TailPosition]:
        return {}

    def follow(self, positions: object) -> Iterator[dict[int, Portion]]:
        for each in self.script.pop(0) if self.script else []:
            if isinstance(each, Exception):
                raise each
            yield each
        if not self.script:
            self.copier.stop()

    def put(self, portions: dict[int, Portion]) -> None:
        failure = self.put_failures.pop(0) if self.put_failures else None
        if failure:
            raise failure
        self.taken.append(portions)
        if self.stops_with_first_put:
            self.copier.stop()


@pytest.fixture
def logged(caplog):
    caplog.set_level(logging.INFO)
    return lambda: [record.getMessage().split()[0] for record in caplog.records]


NOT_COPIED, COPIED_AGAIN = "event=not-copied", "event=copied-again"
AWAY = StoreUnreachable("away")


def test_all_portions_are_put_and_an_empty_poll_puts_nothing(logged):
    stage = Stage([BEGINNING, {}, NEWS, {}])
    stage.copier.run()
    assert stage.taken == [BEGINNING, NEWS]
    assert logged() == []


def test_an_error_is_logged_when_it_begins_or_changes_and_when_it_ends(logged):
    stage = Stage(*[[BEGINNING]] * 4, [LogUnreadable("denied")], [BEGINNING, NEWS])
    stage.put_failures = [AWAY, AWAY, StoreBehind("flushed"), AWAY]
    stage.copier.run()
    assert logged() == [*[NOT_COPIED] * 4, COPIED_AGAIN]


def test_an_opening_portion_alone_ends_no_error(logged):
    stage = Stage(*[[BEGINNING, LogUnreadable("denied")]] * 20)
    stage.script.append([])
    stage.copier.run()
    assert logged() == [NOT_COPIED]


def test_it_tries_again_at_once_and_then_ever_more_seldom_until_it_works():
    stage = Stage(*[[BEGINNING, LogUnreadable("away")]] * 8, [NEWS, AWAY], [NEWS])
    stage.copier.run()
    *waited, last = stage.stopping.waited
    assert waited == [0.2, 0.4, 0.8, 1.6, 3.2, *[RETRY_SECONDS_MAX] * 3]
    assert last == RETRY_SECONDS_MIN


def test_after_stop_nothing_more_is_put():
    stage = Stage([BEGINNING, NEWS])
    stage.stops_with_first_put = True
    stage.copier.run()
    assert stage.taken == [BEGINNING]


def test_an_unexpected_error_is_logged_with_its_traceback_and_tried_again(logged, caplog):
    stage = Stage([BEGINNING, KeyError("lost key")], [BEGINNING, NEWS])
    stage.copier.run()
    assert logged() == [NOT_COPIED, COPIED_AGAIN]
    assert caplog.records[0].exc_info


def test_it_is_copying_once_it_has_put_something_until_a_trouble():
    stage = Stage([BEGINNING, NEWS], [AWAY])
    assert not stage.copier.is_copying
    seen = []
    stage.stopping.on_wait = lambda: seen.append(stage.copier.is_copying)
    taken, put = [], stage.put

    def watched(portions):
        taken.append(stage.copier.is_copying)
        put(portions)

    stage.put = watched
    stage.script = [[BEGINNING, NEWS, NEWS, AWAY], []]
    stage.copier.run()
    assert taken == [False, False, True]
    assert seen == [False]
