"""Fold on columns: the ends of any history of ticks are those that fold.py finds row by row."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.upsert.column_fold import (
    ENDS,
    FoldedTwice,
    Packed,
    are_best,
    ends,
    fixed_bytes,
    from_bytes,
    joined,
    pack,
    sorted_facts,
    top_of,
    unpack,
)
from aggregator.upsert.facts import FACTS, KEY_BYTES
from aggregator.upsert.fold import KEPT, fold
from aggregator.upsert.tick import ROW_BITS
from aggregator.upsert.version import RowEnd, Version

KEYS = [bytes(16), b"\xff" * 16, b"\0" * 15 + b"\1", b"\1" + b"\0" * 15]
ORDERS = st.sampled_from([-(2**63), -1, 0, 1, 2, 2**63 - 1])

Row = tuple[bytes, Version]


def batch(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"key": key, **version._asdict(), "note": None} for key, version in rows], schema=FACTS
    )


@st.composite
def histories(draw) -> list[list[Row]]:
    """Returns the rows of each tick."""
    ticks, offset = [], 0
    for tick in range(1, draw(st.integers(1, 6)) + 1):
        rows: list[Row] = []
        for number in range(draw(st.integers(0, 12))):
            offset += draw(st.integers(0, 1))
            version = Version(
                draw(ORDERS),
                draw(st.sampled_from([0, 1, 2**31 - 1])),
                offset,
                len(rows),
                (tick << ROW_BITS) + number,
                draw(st.booleans()),
            )
            rows.append((draw(st.sampled_from(KEYS)), version))
        ticks.append(rows)
    return ticks


class State:
    """State of keys as Spark holds it: the two newest packed versions."""

    def __init__(self) -> None:
        self.held: dict[bytes, list[bytes]] = {}

    def fold(self, facts: Packed) -> pa.Table:
        """Merges the best of each key; returns the state of these keys."""
        best = facts[are_best(facts)]
        keys = fixed_bytes(best, 0, KEY_BYTES).to_pylist()
        versions = fixed_bytes(best, KEY_BYTES, facts.itemsize).to_pylist()
        for key, version in zip(keys, versions, strict=True):
            self.held[key] = sorted([*self.held.get(key, []), version], reverse=True)[:KEPT]
        # As Spark's rows come: in no order.
        shown = list(reversed(keys))
        return pa.table(
            {
                "key": pa.array(shown, pa.binary()),
                "top": pa.array([b"".join(self.held[key]) for key in shown], pa.binary()),
            }
        )


def row_ends(table: pa.Table) -> list[RowEnd]:
    assert table.schema == ENDS
    return [RowEnd(**row) for row in table.to_pylist()]


@given(histories(), ORDERS)
def test_ends_of_any_history_are_those_that_are_found_row_by_row(ticks, since_order):
    by_row, by_column = {}, State()
    for number, rows in enumerate(ticks, 1):
        half = len(rows) // 2
        facts = sorted_facts(joined([pack(batch(rows[half:])), pack(batch(rows[:half]))]))
        state = by_column.fold(facts)
        top = top_of(*(state[name].combine_chunks() for name in ("key", "top")))
        expected = fold(number, rows, by_row, since_order)
        by_row |= expected.states
        assert row_ends(ends(number, facts, top, since_order)) == expected.ends


@given(histories())
def test_packed_facts_compare_as_keys_and_versions_do(ticks):
    rows = [row for tick in ticks for row in tick]
    packed = sorted_facts(from_bytes(pack(batch(rows)).tobytes()))
    assert unpack(packed) == batch(sorted(rows))


def test_a_part_of_a_batch_is_packed_as_a_batch_of_its_own():
    rows = [(KEYS[n % 4], Version(n, 0, n, 0, n, n % 2 == 0)) for n in range(8)]
    assert unpack(pack(batch(rows).slice(3, 4))) == batch(rows[3:7])


def test_a_tick_that_the_state_holds_already_is_told():
    rows = [(KEYS[0], Version(5, 0, 1, 0, 1 << ROW_BITS, False))]
    facts, state = sorted_facts(pack(batch(rows))), State()
    state.fold(facts)
    again = state.fold(facts)
    with pytest.raises(FoldedTwice, match="tick 1 was in the state of 1 of its keys already"):
        ends(1, facts, top_of(again["key"].combine_chunks(), again["top"].combine_chunks()))


def test_a_state_of_other_keys_is_refused():
    facts = pack(batch([(KEYS[0], Version(5, 0, 1, 0, 1 << ROW_BITS, False))]))
    other = State().fold(pack(batch([(KEYS[1], Version(5, 0, 1, 0, 1, False))])))
    with pytest.raises(ValueError, match="the state of 1 keys answers 1 keys"):
        ends(1, facts, top_of(other["key"].combine_chunks(), other["top"].combine_chunks()))


@pytest.mark.parametrize("state", [b"", b"x" * 32, b"x" * 99, None])
def test_a_state_that_is_not_one_or_two_versions_is_refused(state):
    with pytest.raises(ValueError, match="not one or two versions"):
        top_of(pa.array([KEYS[0]]), pa.array([state], pa.binary()))


def test_a_key_of_another_length_is_refused():
    with pytest.raises(pa.ArrowInvalid):
        pack(batch([(b"short", Version(5, 0, 1, 0, 1, False))]))
