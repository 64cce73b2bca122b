"""Sequences of batches count records, modulo 2^31."""

from replicator.mirror.carrier.sequenced_batch import SequencedBatch
from replicator.mirror.ledger.entry import SEQUENCE_MASK
from tests.replicator.mirror.carrier.outgoing_batches import BATCH, WRITTEN_MS, outgoing


def test_the_next_sequence_wraps_around():
    assert SequencedBatch(7, outgoing((0, 3))).next_sequence == 10
    assert SequencedBatch(SEQUENCE_MASK - 1, outgoing((0, 3))).next_sequence == 1


def test_size_and_timestamp_are_those_of_the_batch():
    batch = SequencedBatch(0, outgoing((0, 1)))
    assert (batch.size_bytes, batch.max_timestamp_ms) == (len(BATCH), WRITTEN_MS)
