"""A round runs when its inputs change, when one is urgent, and periodically."""

from __future__ import annotations

import pytest

from replicator.placement.rounds.round_schedule import RoundSchedule


@pytest.fixture
def schedule() -> RoundSchedule:
    schedule = RoundSchedule(60.0)
    assert schedule.is_due("inputs", 100.0, is_urgent=False)
    return schedule


def test_a_round_runs_again_after_its_period(schedule: RoundSchedule) -> None:
    assert not schedule.is_due("inputs", 159.0, is_urgent=False)
    assert schedule.is_due("inputs", 160.0, is_urgent=False)


@pytest.mark.parametrize(("inputs", "is_urgent"), [("others", False), ("inputs", True)])
def test_a_change_or_an_urgent_round_does_not_wait_and_begins_a_new_period(
    schedule: RoundSchedule, inputs: str, is_urgent: bool
) -> None:
    assert schedule.is_due(inputs, 130.0, is_urgent=is_urgent)
    assert not schedule.is_due(inputs, 189.0, is_urgent=False)
    assert schedule.is_due(inputs, 190.0, is_urgent=False)


def test_a_round_that_left_a_route_out_is_repeated_at_once(schedule: RoundSchedule) -> None:
    schedule.repeat()
    assert schedule.is_due("inputs", 101.0, is_urgent=False)
