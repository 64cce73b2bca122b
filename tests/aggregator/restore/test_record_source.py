"""Record source: batches of a partition's records in order, from any position on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.restore.record_source import RecordSource
from aggregator.restore.restore_plan import CannotRestore, PartitionPlan
from aggregator.restore.restore_range import RestoreRange
from tests.aggregator.restore.kept_objects import KeptObjects
from tests.replicator.batches.source_batches import Record, decoded


def stored(store: KeptObjects, homes: list[int], size: int) -> tuple[list[Record], PartitionPlan]:
    """Writes a record for each home, into objects of that folder."""
    records = [
        Record(2 * at, 1_000 + at, b"k%d" % at, None if at % 5 == 0 else b"v" * at, (("h", b""),))
        for at in range(len(homes))
    ]
    objects = []
    for home in set(homes):
        mine = [each for each, at in zip(records, homes, strict=True) if at == home]
        objects += [
            store.write(mine[first : first + size], folder=f"f={home}")
            for first in range(0, len(mine), size)
        ]
    objects.sort(key=lambda each: each.begin)
    return records, PartitionPlan(0, 0, 2 * len(homes), tuple(objects))


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=40),
    st.integers(1, 15),
    st.integers(0, 50),
    st.integers(200, 3000),
)
def test_batches_hold_the_records_from_the_position_on_with_their_offsets(
    tmp_path_factory, homes, size, position, bytes_max
):
    store = KeptObjects()
    records, plan = stored(store, homes, size)
    source = RecordSource(
        plan, position, RestoreRange(), store, tmp_path_factory.getbasetemp(), bytes_max
    )
    batches = []
    while taken := source.take(3):
        batches += taken
    assert all(len(each.data) <= bytes_max for each in batches)
    offsets = [
        at for each in batches for first, count in each.spans for at in range(first, first + count)
    ]
    wanted = [each for each in records if each.offset >= position]
    assert offsets == [each.offset for each in wanted]
    for each in batches:
        each.stamp(producer_id=1, producer_epoch=0, base_sequence=0)
    found = [each for batch in batches for each in decoded(batch.data)]
    assert [(it.timestamp, it.key, it.value, it.headers) for it in found] == [
        (it.timestamp, it.key, it.value, it.headers) for it in wanted
    ]


def test_objects_before_the_position_are_not_read(tmp_path):
    store = KeptObjects()
    _, plan = stored(store, [0] * 30, 10)
    RecordSource(plan, 40, RestoreRange(), store, tmp_path, 1 << 20).take(100)
    assert store.reads == [plan.objects[2].key]


def test_a_record_that_the_target_does_not_take_is_named_behind_those_before_it(tmp_path):
    store = KeptObjects()
    _, plan = stored(store, [0] * 30, 30)
    source = RecordSource(plan, 0, RestoreRange(), store, tmp_path, 85)
    assert source.take(2)
    with pytest.raises(CannotRestore, match=r"the record of offset \d+ needs a batch"):
        source.take(100)
