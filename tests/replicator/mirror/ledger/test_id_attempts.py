"""Transactional ids that give no answer come last, get more time, and hold up no other id."""

from replicator.mirror.ledger.id_attempts import IdAttempts

SILENT, OTHER, THIRD = "sluice.west.east.0", "sluice.west.east.1", "sluice.west.east.2"


def test_an_id_without_an_answer_comes_last_until_it_answers():
    attempts = IdAttempts(shuffle=lambda ids: ids.sort())
    assert attempts.ordered([THIRD, SILENT, OTHER]) == [SILENT, OTHER, THIRD]
    attempts.expired(SILENT)
    assert attempts.is_overdue(SILENT)
    assert attempts.ordered([THIRD, SILENT, OTHER]) == [OTHER, THIRD, SILENT]
    attempts.answered(SILENT)
    assert not attempts.is_overdue(SILENT)
    assert attempts.ordered([THIRD, SILENT, OTHER]) == [SILENT, OTHER, THIRD]


def test_ids_with_equally_many_failures_keep_the_shuffled_order():
    attempts = IdAttempts(shuffle=lambda ids: ids.reverse())
    assert attempts.ordered([SILENT, OTHER, THIRD]) == [THIRD, OTHER, SILENT]


def test_each_expired_attempt_doubles_the_time_of_the_next_one_up_to_a_limit():
    attempts = IdAttempts(10.0, doublings_max=2)
    limits = []
    for _ in range(5):
        limits.append(attempts.limit_seconds(SILENT))
        attempts.expired(SILENT)
    assert limits == [10, 20, 40, 40, 40]
    assert attempts.limit_seconds(OTHER) == 10


def test_competing_carriers_pause_for_longer_each_time_that_one_of_them_was_faster():
    attempts = IdAttempts(jitter=lambda: 1.0)
    pauses = [attempts.backoff_seconds(SILENT) for _ in range(6)]
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 3.2]
    attempts.answered(SILENT)
    assert attempts.backoff_seconds(SILENT) == 3.2, "an answer alone ends no competition"
    attempts.succeeded(SILENT)
    assert attempts.backoff_seconds(SILENT) == 0.2
