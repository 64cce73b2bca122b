"""Passes are repeated, and an error is logged once."""

from __future__ import annotations

import logging

import pytest

from replicator.groups.offset_sync.passes import Pass, PassFailed, PassLoop
from replicator.runtime.report_once import Troubles
from replicator.runtime.store_errors import StoreUnreachable
from tests.replicator.groups.recorded_waits import RecordedWaits

FAILED, WORKS = "event=pass-failed", "event=pass-works-again"


class Script:
    """Pass with scripted outcomes; the loop stops after the last one."""

    def __init__(self, *outcomes: Exception | None, again_seconds: float = 60.0) -> None:
        self._outcomes = list(outcomes)
        self.stopping = RecordedWaits()
        self.loop = PassLoop(
            Pass("counting", 30.0, self.once), self.stopping, Troubles(again_seconds)
        )

    def once(self) -> None:
        outcome = self._outcomes.pop(0)
        if not self._outcomes:
            self.loop.stop()
        if outcome:
            raise outcome


@pytest.fixture
def logged(caplog):
    caplog.set_level(logging.INFO)
    return lambda: [record.getMessage().split()[0] for record in caplog.records]


def test_a_pass_runs_at_once_and_again_after_its_interval(logged):
    script = Script(None, None, None)
    script.loop.run()
    assert script.stopping.waited == [30.0] * 3
    assert script.loop.succeeded_at is not None
    assert logged() == []


def test_an_error_is_logged_when_it_begins_or_changes_and_when_it_ends(logged):
    away, failed = StoreUnreachable("away"), PassFailed("refused")
    script = Script(away, away, failed, failed, None, None)
    script.loop.run()
    assert logged() == [FAILED, FAILED, WORKS]


def test_a_second_region_that_is_away_is_logged_too(logged, caplog):
    west, both = PassFailed("west is away"), PassFailed("west is away; east is away")
    Script(west, west, both, both, None, again_seconds=0.0).loop.run()
    assert logged() == [FAILED, FAILED, WORKS]
    assert "east is away" in caplog.text


def test_an_unexpected_error_is_logged_with_its_traceback_and_ends_nothing(logged, caplog):
    script = Script(KeyError("lost key"), None)
    script.loop.run()
    assert logged() == [FAILED, WORKS]
    assert caplog.records[0].exc_info


def test_a_pass_that_never_succeeded_has_no_time():
    script = Script(StoreUnreachable("away"))
    script.loop.run()
    assert script.loop.succeeded_at is None
