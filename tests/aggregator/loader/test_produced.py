"""Produced records: packed by their exact sizes, and dead letters cut to what their topic takes."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.loader.dead_letters import dead_letters
from aggregator.loader.produced import Limits, Produced, fitted, packed
from aggregator.tables.decoded import DeadRecord
from balancer.topic_partition import TopicPartition
from replicator.batches.batch import HEADER_BYTES, header_at
from tests.aggregator.loader.letters import NOW_MS, letter, sliced, written


@given(
    st.sampled_from([0, 100, 5000, 70_000]),
    st.sampled_from([0, 100, 5000, 70_000]),
    st.sampled_from([0, 100, 5000, 70_000]),
    st.sampled_from([4096, 16_384, 65_536, 1 << 20]),
)
def test_a_dead_letter_fits_whatever_its_topic_takes(key, value, header, batch_bytes):
    whole = letter(b"k" * key, b"v" * value, ((b"h", b"h" * header),))
    ((_, own_key, own_value, headers),) = written([whole], Limits(batch_bytes))
    batch = packed([whole], 0, Limits(batch_bytes), NOW_MS)
    assert len(batch.data) <= batch_bytes
    told = dict(headers)
    assert told[b"sluice.offset"] == b"10"
    for name, full, found in ((b"key", b"k" * key, own_key), (b"value", b"v" * value, own_value)):
        is_told = b"sluice." + name + b".bytes" in told
        assert is_told is (found != full)
        assert full.startswith(found)
        if is_told:
            assert told[b"sluice." + name + b".bytes"] == b"%d" % len(full)
            digest = hashlib.sha256(full).hexdigest().encode()
            assert told[b"sluice." + name + b".sha256"] == digest
    assert (b"h" in told) is (b"sluice.headers.bytes" not in told)


@pytest.mark.parametrize("batch_bytes", [2048, 3000, 4096, 8000])
@pytest.mark.parametrize("character", ["t", "\N{GRINNING FACE}"])
def test_a_dead_letter_fits_however_long_its_own_texts_are(character, batch_bytes):
    """A letter of 8 KB was sent to a topic of 4 KB again and again, within its transaction."""
    place, long = TopicPartition("t" * 249, 7), character * 1000
    records = sliced([(b"k" * 999, b"v" * 9999, [(b"h", b"h" * 999)], 5)])
    [whole] = dead_letters("lake", place, "east", long, [records], [DeadRecord(10, long)], 9**13)
    batch = packed([whole], 0, Limits(batch_bytes), NOW_MS)
    assert len(batch.data) <= batch_bytes
    [(_, _, _, headers)] = written([whole], Limits(batch_bytes))
    told = {name.decode(): value.decode() for name, value in headers}
    found = (told["sluice.topic"], told["sluice.partition"], told["sluice.offset"])
    assert found == (place.topic, "7", "10")
    assert 30 < len(told["sluice.table"]) <= 1000 and long.startswith(told["sluice.reason"])


def test_of_a_large_value_as_much_is_kept_as_fits():
    whole = letter(b"key", b"v" * 100_000, ((b"trace", b"t" * 107),))
    cut = fitted(whole, 50_000)
    assert 49_000 < len(cut.value) < 50_000
    assert (cut.key, cut.headers[0]) == (b"key", ("trace", b"t" * 107))


def test_other_records_are_never_cut():
    told = Produced("sluice.objects.lake", 0, 5, b"key", b"v" * 100_000)
    assert fitted(told, 1000) is told
    assert packed([told], 0, Limits(1000), NOW_MS).count == 1


def test_records_have_their_own_times_unless_the_topic_takes_none():
    told = [Produced("t", 0, time, None, b"v") for time in (50, 40, 60)]
    assert [time for time, *_ in written(told)] == [50, 40, 60]
    assert [time for time, *_ in written(told, Limits(has_times=False))] == [-1, -1, -1]
    batch = packed(told, 0, Limits(), NOW_MS)
    header = header_at(batch.data)
    assert (header.base_timestamp, header.max_timestamp) == (50, 60)


@pytest.mark.parametrize("batch_bytes", [5000, 1 << 16, 1 << 22])
def test_a_batch_has_as_many_records_as_fit(batch_bytes):
    letters = [letter(b"k", b"v", ((b"h", b"h" * 2048),))] * 1500
    found, first = [], 0
    while first < len(letters):
        batch = packed(letters, first, Limits(batch_bytes), NOW_MS)
        assert len(batch.data) <= min(batch_bytes, (1 << 20))
        found.append(batch.count)
        first += batch.count
    record = (len(packed(letters, 0, Limits(batch_bytes), NOW_MS).data) - HEADER_BYTES) // found[0]
    assert all((count + 1) * record > min(batch_bytes, 1 << 20) - 200 for count in found[:-1])
