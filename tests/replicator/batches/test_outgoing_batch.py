"""Outgoing batches know the source offsets they contain."""

from replicator.batches.batch import header_at
from replicator.batches.outgoing_batch import OutgoingBatch, RecordTooLarge
from tests.replicator.batches.source_batches import encoded, one_record


def test_a_parcel_reaches_from_its_first_to_behind_its_last_source_offset():
    parcel = OutgoingBatch(bytearray(), 5, ((10, 2), (14, 3)), True)
    assert (parcel.first_offset, parcel.next_offset) == (10, 17)


def test_a_parcel_takes_the_numbers_of_whoever_sends_it():
    parcel = OutgoingBatch(bytearray(encoded([one_record(0)])), 1, ((0, 1),), False)
    parcel.stamp(producer_id=8, producer_epoch=1, base_sequence=4)
    assert header_at(parcel.data).base_sequence == 4


def test_a_record_too_large_says_what_to_mend():
    assert "raise max.message.bytes" in str(RecordTooLarge(5, 2000, 1000))
