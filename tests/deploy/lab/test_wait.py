"""Waiting ends when the condition holds or the time is up."""

import time

from deploy.lab.wait import until


def test_a_condition_is_asked_at_least_once():
    assert until(lambda: True, 0)


def test_a_condition_is_asked_until_it_holds():
    answers = iter([False, False, True])
    assert until(lambda: next(answers), 60, every_seconds=0)


def test_waiting_ends_in_time():
    began_at = time.monotonic()
    assert not until(lambda: False, 0.1, every_seconds=0.01)
    assert time.monotonic() - began_at < 5
