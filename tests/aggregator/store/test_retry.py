"""Pauses grow up to a limit; contention is met with short ones, another replica with none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aggregator.store.insert_errors import ErrorClass, InsertProblem
from aggregator.store.retry import RetryPolicy

POLICY = RetryPolicy(pause_seconds=0.2, pause_seconds_max=10.0, replicas=3)


def problem(error_class: ErrorClass, code: int | None = None) -> InsertProblem:
    return InsertProblem(error_class, code, "", may_be_stored=False)


def longest(error_class: ErrorClass, failures: int, code: int | None = None) -> float:
    return POLICY.pause(problem(error_class, code), failures, 1.0)


def test_pauses_double_up_to_the_limit():
    pauses = [longest(ErrorClass.SAME_AGAIN, failures) for failures in range(1, 9)]
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]
    assert [POLICY.look_pause(looks, 1.0) for looks in range(1, 9)] == pauses
    assert longest(ErrorClass.SAME_AGAIN, 10_000) == 10.0


def test_every_replica_is_tried_before_there_is_a_pause():
    pauses = [longest(ErrorClass.OTHER_REPLICA, failures) for failures in range(1, 8)]
    assert pauses == [0, 0, 0.2, 0, 0, 0.4, 0]


def test_contention_is_tried_again_soon_however_often_it_was_met():
    assert longest(ErrorClass.SAME_AGAIN, 1000, code=286) == 0.8


def test_what_only_an_operator_can_help_is_tried_seldom():
    assert longest(ErrorClass.STOP, 1) == 10.0


@given(st.sampled_from(ErrorClass), st.integers(1, 100), st.floats(0, 1))
def test_jitter_shortens_a_pause_by_half_at_most(error_class, failures, random):
    pause = POLICY.pause(problem(error_class), failures, random)
    assert longest(error_class, failures) / 2 <= pause <= longest(error_class, failures)
