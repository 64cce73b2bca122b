"""Outgoing batches know the source offsets they contain."""

from replicator.batches.batch import header_at
from replicator.batches.outgoing_batch import OutgoingBatch, RecordTooLarge
from tests.replicator.batches.source_batches import encoded, one_record


def test_an_outgoing_batch_reaches_from_its_first_to_behind_its_last_source_offset():
    outgoing = OutgoingBatch(bytearray(), 5, ((10, 2), (14, 3)), True)
    assert (outgoing.first_offset, outgoing.next_offset) == (10, 17)


def test_an_outgoing_batch_takes_the_numbers_of_its_producer():
    outgoing = OutgoingBatch(bytearray(encoded([one_record(0)])), 1, ((0, 1),), False)
    outgoing.stamp(producer_id=8, producer_epoch=1, base_sequence=4)
    assert header_at(outgoing.data).base_sequence == 4


def test_a_record_too_large_says_what_to_mend():
    assert "raise max.message.bytes" in str(RecordTooLarge(5, 2000, 1000))
