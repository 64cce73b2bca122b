"""Ends of rows, found from the rows alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.upsert.fold import fold
from aggregator.upsert.tick import OPEN, ROW_BITS
from aggregator.upsert.version import EndKind, RowEnd, Version
from aggregator.verifier.key_histories import Until, compared_ends, expected_ends, wrong_untils

KEY = b"k" * 16


def row(tick, number, order, *, is_delete=False, lane=0):
    row_id = (tick << ROW_BITS) + number
    return Version(order, lane, tick * 100 + number, 0, row_id, is_delete)


def ended(*rows, before=None):
    found = expected_ends(((KEY, each) for each in rows), {KEY: before} if before else {})
    return [(each.row_id, each.kind, each.tick, each.by_row_id) for each in found]


def test_a_newer_row_ends_the_one_before():
    old, new = row(1, 0, 5), row(2, 0, 6)
    assert ended(old, new) == [(old.row_id, EndKind.SUPERSEDED, 2, new.row_id)]
    assert ended(new, before=old) == [(old.row_id, EndKind.SUPERSEDED, 2, new.row_id)]


def test_an_older_row_is_born_late_and_a_delete_ends_without_end():
    old, gone, late = row(1, 0, 5), row(2, 0, 7, is_delete=True), row(3, 0, 6)
    assert ended(old, gone, late) == [
        (old.row_id, EndKind.DELETED, 2, gone.row_id),
        (late.row_id, EndKind.LATE, 3, gone.row_id),
    ]
    revived = row(4, 0, 8)
    assert ended(revived, before=gone) == []


def test_rows_of_one_tick_end_by_its_newest_even_if_that_is_late():
    kept, best, loser = row(1, 0, 9), row(2, 1, 5), row(2, 0, 4)
    assert ended(kept, best, loser) == [
        (loser.row_id, EndKind.SUPERSEDED, 2, best.row_id),
        (best.row_id, EndKind.LATE, 2, kept.row_id),
    ]


keys = st.sampled_from([bytes([each]) * 16 for each in range(3)])
drawn = st.lists(st.tuples(keys, st.integers(0, 4), st.integers(0, 1), st.booleans()), max_size=8)


@given(st.lists(drawn, max_size=5), st.integers(1, 4), st.integers(0, 4))
def test_the_ends_are_those_of_the_coordinator(ticks, cut, since):
    rows, states, ends, begun = [], {}, [], {}
    for tick, some in enumerate(ticks, 1):
        if tick == cut:
            begun = {key: state[0] for key, state in states.items()}
        of_tick = [
            (key, row(tick, number, order, is_delete=is_delete, lane=lane))
            for number, (key, order, lane, is_delete) in enumerate(some)
        ]
        folded = fold(tick, of_tick, states, since)
        states |= folded.states
        if tick >= cut:
            rows += of_tick
            ends += folded.ends
    assert sorted(expected_ends(rows, begun, lambda tick: since)) == sorted(ends)


# -- comparison

OLD, NEW = row(1, 0, 5), row(2, 0, 6)
END = RowEnd(OLD.row_id, 0, 100, EndKind.SUPERSEDED, 2, NEW.row_id, KEY)
OTHER = END._replace(row_id=OLD.row_id + 1, offset=101)


def difference(found, expected=(END, OTHER), *, has_memory=True):
    it = compared_ends(expected, found, has_memory=has_memory)
    return {
        name: getattr(it, name)
        for name in ("missing", "surplus", "doubled", "changed", "maybe_repeated")
        if getattr(it, name)
    }


def test_the_same_ends_do_not_differ():
    assert difference({END: 1, OTHER: 1}) == {}


@pytest.mark.parametrize(
    ("found", "what"),
    [
        ({OTHER: 1}, {"missing": [END.row_id]}),
        ({END: 2, OTHER: 1}, {"doubled": [END.row_id]}),
        ({END: 1, OTHER: 1, END._replace(row_id=7): 1}, {"surplus": [7]}),
        ({END: 1, OTHER: 1, END._replace(tick=3): 1}, {"surplus": [END.row_id]}),
        ({END._replace(tick=3): 1, OTHER: 1}, {"missing": [END.row_id], "surplus": [END.row_id]}),
        ({END._replace(kind=EndKind.LATE): 1, OTHER: 1}, {"changed": [END.row_id]}),
        ({END._replace(by_row_id=9): 1, OTHER: 1}, {"changed": [END.row_id]}),
        ({END._replace(key=b"x" * 16): 1, OTHER: 1}, {"changed": [END.row_id]}),
    ],
)
def test_ends_that_differ_are_named(found, what):
    assert difference(found) == what


def test_a_tick_that_was_done_again_may_have_all_its_ends_twice_without_a_memory_of_blocks():
    assert difference({END: 2, OTHER: 2}, has_memory=False) == {}
    assert difference({END: 2, OTHER: 1}, has_memory=False) == {"doubled": [END.row_id]}
    assert difference({END: 2}, [END], has_memory=False) == {"maybe_repeated": [END.row_id]}
    assert set(difference({END: 2, OTHER: 2})) == {"doubled"}


@pytest.mark.parametrize(
    ("until", "ended_at", "is_delete", "is_right"),
    [
        (OPEN, None, False, True),
        (8, None, False, False),
        (9, None, False, True),
        (4, None, True, True),
        (OPEN, None, True, False),
        (5, 5, False, True),
        (6, 5, False, True),
        (4, 5, False, False),
        (9, 5, False, False),
        (OPEN, 5, False, False),
        (OPEN, 8, False, True),
        (9, 8, False, True),
        (7, 8, False, False),
    ],
)
def test_until_is_settled_between_the_end_and_the_first_settle_point_behind_it(
    until, ended_at, is_delete, is_right
):
    of = (4 << ROW_BITS) + 3
    wrong = wrong_untils([Until(of, until, is_delete, ended_at)], [3, 6], 8)
    assert list(wrong) == ([] if is_right else [of])
