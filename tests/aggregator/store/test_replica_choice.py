"""The first replica that works is used, and comes first again once it was away long enough."""

from __future__ import annotations

from aggregator.store.replica_choice import ReplicaChoice


def test_a_replica_that_failed_is_used_again_after_a_while():
    choice = ReplicaChoice(3, away_seconds=10.0)
    assert choice.best(0.0) == 0
    choice.failed(0, 0.0)
    assert choice.best(5.0) == 1
    assert choice.best(10.0) == 0


def test_a_replica_that_works_is_away_no_more():
    choice = ReplicaChoice(2, away_seconds=10.0)
    choice.failed(0, 0.0)
    choice.worked(0)
    assert choice.best(1.0) == 0


def test_when_all_are_away_the_one_that_failed_first_is_tried():
    choice = ReplicaChoice(3, away_seconds=10.0)
    for at, now in ((1, 0.0), (0, 1.0), (2, 2.0)):
        choice.failed(at, now)
    assert choice.best(3.0) == 1
