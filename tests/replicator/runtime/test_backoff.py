"""Claims about the pauses between attempts."""

from replicator.runtime.backoff import Backoff


def pauses(backoff, count):
    found = []
    for _ in range(count):
        found.append(backoff.seconds)
        backoff.grow()
    return found


def test_pauses_double_up_to_the_longest():
    assert pauses(Backoff(1.0, 5.0), 5) == [1.0, 2.0, 4.0, 5.0, 5.0]


def test_the_factor_decides_the_growth():
    assert pauses(Backoff(1.0, 100.0, factor=3.0), 3) == [1.0, 3.0, 9.0]


def test_a_reset_begins_with_the_shortest_pause_again():
    backoff = Backoff(1.0, 5.0)
    pauses(backoff, 3)
    backoff.reset()
    assert pauses(backoff, 2) == [1.0, 2.0]


def test_a_jittered_pause_stays_between_its_bounds():
    backoff = Backoff(10.0, 10.0)
    assert all(5.0 <= backoff.jittered(0.5, 1.5) <= 15.0 for _ in range(100))
