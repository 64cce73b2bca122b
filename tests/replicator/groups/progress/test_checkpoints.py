"""Checkpoints carried over; test_aggregate.py shows that they skip nothing."""

from replicator.groups.progress.checkpoints import Checkpoint, carried_over


def test_the_worked_example_of_the_article():
    on_a = {"a": [Checkpoint(1, 1)], "b": [Checkpoint(3, 7)]}
    on_b = {"a": [Checkpoint(1, 3)], "b": [Checkpoint(3, 5)]}
    assert carried_over(6, on_b, on_a) == min(1, 7) == 1


def test_without_a_checkpoint_before_the_position_nothing_is_answered():
    assert carried_over(6, {"a": [Checkpoint(9, 7)]}, {"a": [Checkpoint(0, 0)]}) is None
    assert carried_over(6, {"a": [Checkpoint(5, 5)]}, {"a": [Checkpoint(6, 0)]}) is None
    assert carried_over(6, {}, {}) is None
