"""Records that a cut undoes: below it, and of a transaction whose commit marker is behind it."""

from __future__ import annotations

from collections.abc import Sequence

from tests.replicator.batches.source_batches import encoded, one_record
from tests.world.kafka.log_batch import TRANSACTIONAL, Batch, batch_of, marker_of
from tests.world.kafka.log_losses import LossCause, LostRange
from tests.world.objects.losses import committed_records, kept_to, undone_records

PLACE = ("orders", 0)
USUAL, FIRST, SECOND = -1, 7, 8
"""Producers: the first one has no transactions."""


def records(producer_id: int, count: int) -> Batch:
    attributes = 0 if producer_id == USUAL else TRANSACTIONAL
    content = [one_record(at) for at in range(count)]
    return batch_of(encoded(content, attributes=attributes, producer_id=producer_id))


def commit(producer_id: int) -> Batch:
    return marker_of(producer_id, 0, is_commit=True, coordinator_epoch=0)


def abort(producer_id: int) -> Batch:
    return marker_of(producer_id, 0, is_commit=False, coordinator_epoch=0)


def log_of(*batches: Batch) -> list[Batch]:
    log: list[Batch] = []
    for each in batches:
        log.append(each.at(log[-1].end if log else 0, 0))
    return log


def cut(log: Sequence[Batch], begin: int) -> LostRange:
    return LostRange(PLACE, LossCause.UNCLEAN_ELECTION, begin, log[-1].end, log)


def undone(lost: LostRange, *behind: Batch) -> list[int]:
    """Returns the offsets of what is undone in the log of today.

    Args:
        behind: the cut.
    """
    today = log_of(*(it for it in lost.log if it.end <= lost.begin), *behind)
    return [it.offset for it in undone_records(committed_records(today), [lost])]


def test_a_transaction_that_is_committed_before_the_cut_stays():
    lost = cut(log_of(records(FIRST, 3), commit(FIRST), records(USUAL, 2)), 4)
    assert kept_to(lost) == 4
    assert undone(lost) == []


def test_a_transaction_whose_commit_marker_is_lost_is_undone_from_its_first_record_on():
    log = log_of(
        records(FIRST, 2),
        commit(FIRST),
        records(USUAL, 1),
        records(FIRST, 3),
        records(USUAL, 1),
        records(FIRST, 1),
        commit(FIRST),
    )
    lost = cut(log, 9)
    assert kept_to(lost) == 4
    assert undone(lost, abort(FIRST)) == [4, 5, 6, 8]


def test_the_first_of_several_transactions_that_are_undone_decides():
    log = log_of(records(SECOND, 1), records(FIRST, 2), commit(FIRST), commit(SECOND))
    lost = cut(log, 3)
    assert kept_to(lost) == 0
    assert undone(lost, abort(SECOND), abort(FIRST)) == [0, 1, 2]


def test_a_transaction_that_nobody_saw_committed_cannot_be_undone():
    log = log_of(records(USUAL, 1), records(FIRST, 2), records(SECOND, 1), abort(FIRST))
    lost = cut(log, 4)
    assert kept_to(lost) == 4
    assert undone(lost, abort(FIRST), abort(SECOND)) == []


def test_a_later_transaction_of_the_producer_does_not_commit_the_one_that_was_aborted():
    log = log_of(records(FIRST, 2), abort(FIRST), records(FIRST, 1), commit(FIRST))
    lost = cut(log, 2)
    assert kept_to(lost) == 2
    assert undone(lost, abort(FIRST)) == []
