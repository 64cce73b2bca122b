"""Heads of batches tell which columns their rows have, or why they cannot be loaded."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.row_batch_heads import (
    Head,
    UnknownHash,
    WrongHead,
    columns_of,
    read_heads,
)
from aggregator.formats.row_batch_type import WrittenColumn
from tests.aggregator.formats.protos import batch_class, row_batch
from tests.aggregator.formats.slices import table

SCHEMA = table(a="UInt8", b="String", _offset="UInt64")
COLUMNS = (WrittenColumn("a", "UInt8"), WrittenColumn("b", "String"))
HEADS = st.builds(
    Head, st.sampled_from(["", "t", "u"]), st.sampled_from(["", "x", "y"]), st.just(b"")
)


def columns_message(*columns):
    batch = batch_class(())()
    for name, kind in columns:
        batch.columns.column.add(name=name, type=kind)
    return batch.columns.SerializeToString()


@given(st.lists(HEADS | st.none(), max_size=20))
def test_each_message_has_its_own_head(given_):
    messages = [
        b"\xff"
        if head is None
        else row_batch(
            COLUMNS, [{"a": 1}], table=head.table, schema_hash=head.schema_hash, is_named=False
        )
        for head in given_
    ]
    heads = read_heads(pa.array(messages, pa.binary()))
    found = dict.fromkeys(range(len(given_)))
    for at, number in zip(heads.which.tolist(), heads.number.tolist(), strict=True):
        found[at] = heads.distinct[number]
    assert [*found.values()] == given_
    assert len(set(heads.distinct)) == len(heads.distinct)
    assert sorted(heads.refused) == [at for at, head in enumerate(given_) if head is None]


def test_named_columns_are_taken_as_they_are():
    [head] = read_heads(pa.array([row_batch(COLUMNS, [])], pa.binary())).distinct
    assert columns_of(head, SCHEMA) == COLUMNS
    assert columns_of(head._replace(schema_hash="other"), SCHEMA) == COLUMNS


def test_the_hash_stands_for_the_columns_of_the_table():
    assert columns_of(Head("", SCHEMA.hash, b""), SCHEMA) == COLUMNS


def test_an_unknown_hash_is_named_with_that_of_the_table():
    with pytest.raises(
        UnknownHash, match=f"schema_hash '01234567', and the table's is {SCHEMA.hash}"
    ):
        columns_of(Head("t", "01234567", b""), SCHEMA)


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (Head("u", SCHEMA.hash, b""), "names the table 'u'"),
        (Head("t", "", b""), "neither columns nor a schema_hash"),
        (Head("t", "", b"\xff"), "columns of its batch cannot be read"),
        (Head("t", "", columns_message(("a", ""))), "without name or type"),
        (Head("t", "", columns_message(("", "Int8"))), "without name or type"),
        (Head("t", "", columns_message(("a", "Int8"), ("a", "Int8"))), "names a column twice"),
    ],
)
def test_a_wrong_head_is_told(head, reason):
    with pytest.raises(WrongHead, match=reason) as refused:
        columns_of(head, SCHEMA)
    assert not isinstance(refused.value, UnknownHash)
