"""Producers of a transactional id: none may commit after a newer one has."""

from __future__ import annotations

import pytest

from aggregator.verifier.epoch_history import EpochHistory, Producer
from aggregator.verifier.finding import Kind

SKEW_MS = 10


def judged(*entries, name="loader"):
    history = EpochHistory(SKEW_MS)
    found = [history.judge(name, Producer(*producer), at_ms) for producer, at_ms in entries]
    return [each is not None for each in found]


def test_the_same_and_newer_producers_are_right():
    assert not any(judged(((7, 1), 0), ((7, 1), 50), ((7, 2), 60), ((9, 0), 70), ((9, 1), 80)))


@pytest.mark.parametrize("old", [(7, 1), (5, 4)])
def test_an_entry_of_an_older_producer_behind_a_newer_one_is_found(old):
    assert judged(((5, 4), 0), ((7, 1), 50), ((7, 2), 60), (old, 71)) == [False] * 3 + [True]


def test_within_the_skew_the_order_is_not_known():
    assert not any(judged(((7, 1), 0), ((7, 2), 60), ((7, 1), 70)))


def test_an_entry_of_another_log_that_is_read_late_is_judged_by_its_time():
    assert not any(judged(((7, 1), 0), ((7, 2), 60), ((7, 1), 40)))


def test_each_transactional_id_has_producers_of_its_own():
    history = EpochHistory(SKEW_MS)
    assert history.judge("a", Producer(7, 5), 0) is None
    assert history.judge("b", Producer(7, 1), 100) is None


def test_a_finding_names_both_producers():
    history = EpochHistory(SKEW_MS)
    history.judge("loader", Producer(7, 2), 0)
    found = history.judge("loader", Producer(7, 1), 100)
    assert found is not None
    assert found.kind is Kind.EPOCH
    assert found.text == "loader: producer 7/1 committed 100 ms after 7/2 had begun"
