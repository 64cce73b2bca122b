"""Batches leave a send queue in order, however often they are sent again."""

import pytest

from replicator.mirror.carrier.send_queue import SendQueue
from replicator.mirror.carrier.sequenced_batch import SequencedBatch
from tests.replicator.mirror.carrier.outgoing_batches import BATCH, outgoing


@pytest.fixture
def queue() -> SendQueue:
    """A queue of four batches with the sequences 0 to 3."""
    queue = SendQueue()
    for number in range(4):
        queue.append(SequencedBatch(number, outgoing((number, 1))))
    return queue


def sequences(batches):
    return [batch.sequence for batch in batches]


def test_a_rewind_restores_the_order(queue):
    queue.take()
    queue.take()
    assert queue.in_flight == 2
    queue.rewind()
    assert sequences(queue.queued()) == [0, 1, 2, 3]
    assert queue.in_flight == 0 and queue.size_bytes == 4 * len(BATCH)


def test_an_acknowledged_batch_leaves_only_behind_all_before_it(queue):
    first, second = queue.take(), queue.take()
    second.base_offset = 11
    assert queue.pop_acknowledged() is None
    assert queue.is_first_in_flight(first) and not queue.is_first_in_flight(second)
    first.base_offset = 10
    assert [queue.pop_acknowledged() for _ in range(3)] == [first, second, None]
    assert queue.size_bytes == 2 * len(BATCH)


def test_only_batches_that_were_never_sent_are_dropped(queue):
    queue.take()
    queue.take()
    queue.rewind()
    assert queue.drop_unsent() == 2
    assert sequences(queue.queued()) == [0, 1]
    assert queue.drop_unsent() is None
    assert queue.size_bytes == 2 * len(BATCH)
