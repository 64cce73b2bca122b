"""Selection of the batches that a read_committed reader carries."""

from replicator.batches import batch
from replicator.batches.batch import scan
from replicator.batches.read_committed import ReadCommittedFilter
from tests.replicator.batches.source_batches import control, encoded, one_record

ABORT, COMMIT = 0, 1


def transactional(offset, producer_id):
    return encoded([one_record(offset)], attributes=batch.TRANSACTIONAL, producer_id=producer_id)


def carried(fetched, aborted):
    committed = ReadCommittedFilter(aborted)
    return [header.base_offset for view, header in scan(fetched) if committed.accepts(header, view)]


def test_markers_are_never_carried():
    fetched = transactional(0, 1) + control(1, 1, COMMIT)
    assert carried(fetched, None) == [0]


def test_aborted_data_is_left_out_up_to_its_marker_and_no_further():
    fetched = transactional(0, 1) + transactional(1, 2) + control(2, 1, ABORT) + transactional(3, 1)
    assert carried(fetched, [(1, 0)]) == [1, 3]


def test_one_producers_second_abort_does_not_touch_what_it_committed_between():
    fetched = b"".join(
        [
            transactional(0, 1),
            control(1, 1, ABORT),
            transactional(2, 1),
            control(3, 1, COMMIT),
            transactional(4, 1),
            control(5, 1, ABORT),
        ]
    )
    assert carried(fetched, [(1, 4), (1, 0)]) == [2]


def test_an_abort_that_begins_inside_a_batch_counts_for_it():
    first = encoded([one_record(0), one_record(1)], attributes=batch.TRANSACTIONAL, producer_id=1)
    assert carried(first + control(2, 1, ABORT), [(1, 1)]) == []


def test_batches_outside_transactions_are_carried_whatever_is_aborted():
    plain = encoded([one_record(0)], producer_id=1)
    assert carried(plain + control(1, 1, ABORT), [(1, 0)]) == [0]


def test_a_transaction_that_began_before_the_fetch_is_aborted_in_it():
    assert carried(transactional(50, 1) + control(51, 1, ABORT), [(1, 7)]) == []
