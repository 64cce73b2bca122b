"""Messages of formats v0 and v1 become record batches."""

import struct

import pytest
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder

from replicator.batches.batch import scan
from replicator.batches.old_format import upconverted
from tests.replicator.batches.source_batches import Record, decoded, encoded, one_record


def old(magic, codec, contents, first_offset):
    builder = LegacyRecordBatchBuilder(magic, codec, 1 << 20)
    for index, (key, value) in enumerate(contents):
        offset = first_offset + index if not codec or magic == 0 else index
        builder.append(offset, timestamp=1_500_000_000_000 + index, key=key, value=value)
    data = bytearray(builder.build())
    if codec and magic == 1:
        # The offset of a wrapper is that of its last message.
        struct.pack_into(">q", data, 0, first_offset + len(contents) - 1)
    return bytes(data)


def records_of(fetched):
    return [record for view, _ in scan(fetched) for record in decoded(view)]


CONTENTS = [(b"a", b"1"), (None, b""), (b"", None)]


@pytest.mark.parametrize("codec", [0, 1, 2, 3])
def test_messages_of_v1_keep_offsets_times_keys_and_values(codec):
    fetched = encoded([one_record(6)]) + old(1, codec, CONTENTS, 7) + encoded([one_record(10)])
    modern, broken = upconverted(fetched)
    assert broken is None
    expected = [
        Record(7 + index, 1_500_000_000_000 + index, key, value)
        for index, (key, value) in enumerate(CONTENTS)
    ]
    assert records_of(modern) == [one_record(6), *expected, one_record(10)]


def test_messages_of_v0_have_no_time():
    modern, _ = upconverted(old(0, 0, CONTENTS, 7))
    assert [record.timestamp for record in records_of(modern)] == [-1, -1, -1]


def test_fetches_without_old_messages_are_not_touched():
    fetched = encoded([one_record(6)]) + encoded([one_record(7)])
    assert upconverted(fetched + fetched[:30]) == (fetched, None)


def test_a_broken_old_message_is_named_and_all_before_it_kept():
    bad = bytearray(old(1, 0, CONTENTS[:1], 7))
    bad[-1] ^= 1
    modern, broken = upconverted(encoded([one_record(6)]) + bytes(bad) + encoded([one_record(8)]))
    assert records_of(modern) == [one_record(6)]
    assert broken is not None
    assert broken.first_offset == 7
