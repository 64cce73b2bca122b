"""An entry survives its way through a committed offset, and counts across gaps and wrap-around."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.entry import (
    SEQUENCE_MASK,
    Custody,
    Entry,
    Gap,
    Mark,
    UnreadableEntry,
    decode,
    encode,
)
from replicator.mirror.ledger.sightings import Sighting
from tests.replicator.mirror.ledger.held import held

offsets = st.integers(0, 2**62)
sequences = st.integers(0, SEQUENCE_MASK)
small = st.integers(0, 20)
gaps = st.lists(st.builds(Gap, small, st.integers(1, 9)), max_size=6).map(tuple)
entries = st.builds(
    Entry,
    custody=st.sampled_from(Custody),
    source_offset=offsets,
    target_offset=offsets,
    producer_id=offsets,
    epoch=st.integers(0, 32767),
    sequence=sequences,
    transactional_id=st.text(max_size=40),
    gaps=gaps,
    source_topic=st.none() | st.uuids(),
    target_topic=st.none() | st.uuids(),
    source_epoch=st.integers(-1, 1000),
    mark=st.none() | st.builds(Mark, offsets, offsets, st.integers(0, 32767), sequences),
    losses=small,
    parked=st.none() | st.builds(Loss, st.sampled_from(LossKind), offsets, st.none() | offsets),
    runs=st.lists(offsets, max_size=4).map(tuple),
)


@given(entries)
def test_an_entry_reads_as_it_was_written(entry):
    assert decode(*encode(entry)) == entry


def test_sightings_are_stored_in_the_entry_and_do_not_change_its_equality():
    seen = (Sighting(1_795_446_000_000, 1_795_446_007_000, 100, 100),)
    entry = _plain(seen=seen)
    assert decode(*encode(entry)).seen == seen
    assert entry == _plain()


def test_sightings_that_cannot_be_read_are_dropped():
    offset, metadata = encode(_plain())
    assert decode(offset, metadata[:-1] + ',"seen":["a",1]}') == _plain()


@given(entries, st.integers(0, 200))
def test_positions_and_spans_agree(entry, count):
    spans = entry.spans(0, count)
    carried = [s.source_offset + i for s in spans for i in range(s.count)]
    assert len(carried) == count
    assert carried == sorted(set(carried))
    if carried:
        assert entry.source_offset <= carried[0]
        assert carried[-1] < entry.after(count)


@given(entries, st.integers(0, 100), st.integers(0, 100))
def test_spans_of_two_adjacent_ranges_are_those_of_their_union(entry, first, second):
    def flat(begin: int, count: int) -> list[int]:
        return [s.source_offset + i for s in entry.spans(begin, count) for i in range(s.count)]

    assert flat(0, first) + flat(first, second) == flat(0, first + second)


@given(entries, st.integers(0, 1 << 29))
def test_landed_records_are_counted_across_the_wrap_of_sequences(entry, count):
    last = (entry.sequence + count - 1) & SEQUENCE_MASK
    assert entry.landed_up_to(last) == count


def test_a_sequence_from_before_the_entry_counts_nothing():
    entry = decode(5, encode(_plain())[1])
    assert entry.landed_up_to(entry.sequence - 3) == 0


def test_the_position_after_the_last_landed_record_is_after_the_gap_that_follows():
    entry = decode(*encode(_plain(gaps=(Gap(2, 3), Gap(1, 1)))))
    assert [entry.after(n) for n in range(4)] == [100, 101, 105, 107]


@pytest.mark.parametrize("metadata", ["", "{}", "[]", '{"v":2}', "null", "{", '"x"'])
def test_metadata_of_another_form_is_refused(metadata):
    with pytest.raises(UnreadableEntry, match="offset 7"):
        decode(7, metadata)


def _plain(**changes):
    return held(**{"source_offset": 100, "target_offset": 90, "sequence": 10} | changes)


def test_the_ends_of_a_runs_topic_with_many_partitions_are_left_out():
    assert decode(*encode(_plain(runs=(10**12,) * 4))).runs == (10**12,) * 4
    assert decode(*encode(_plain(runs=(10**12,) * 50))).runs == ()
