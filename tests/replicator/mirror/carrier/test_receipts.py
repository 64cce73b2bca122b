"""Receipts survive the conversion to Arrow and match Spark's schema."""

from dataclasses import fields

from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.mirror.carrier.receipts import (
    SCHEMA,
    STATES,
    Receipt,
    from_arrow,
    to_arrow,
)

offsets = st.integers(0, 2**63 - 1)
times = st.integers(0, 2**32).map(lambda halves: halves / 2)
receipts = st.builds(
    Receipt,
    route=st.just("west>east"),
    topic=st.text(min_size=1),
    partition=st.integers(0, 2**31 - 1),
    carrier=st.integers(0, 100),
    plan_version=offsets,
    source_begin=st.none() | offsets,
    source_end=st.none() | offsets,
    target_begin=st.none() | offsets,
    target_end=st.none() | offsets,
    records=offsets,
    bytes=offsets,
    batches_unopened=offsets,
    batches_opened=offsets,
    state=st.sampled_from(STATES),
    reason=st.text(),
    began_at=times,
    ended_at=times,
)


@settings(deadline=None)
@given(st.lists(receipts, max_size=5))
def test_receipts_come_back_from_arrow_as_they_went_in(some):
    assert from_arrow(to_arrow(some)) == some


def test_every_field_has_its_column_in_arrow():
    assert SCHEMA.names == [field.name for field in fields(Receipt)]
