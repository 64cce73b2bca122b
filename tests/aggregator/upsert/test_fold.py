"""Tests of the fold: which row of a key is the newest, and which rows end."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.upsert.fold import Folded, KeyState, bootstrapped, fold, merged, reduced
from aggregator.upsert.tick import ROW_BITS
from aggregator.upsert.version import EndKind, RowEnd, Version

KEY = bytes(16)
OTHER = bytes(15) + b"\1"


def version(order, number, tick=1, *, lane=0, is_delete=False):
    """Returns the row of a tick with this number, which is its offset too."""
    return Version(order, lane, number, 0, (tick << ROW_BITS) + number, is_delete)


def deletion(order, number, tick=1):
    return version(order, number, tick, is_delete=True)


def played(*ticks):
    """Folds ticks of rows of one key, from tick 1 on; returns the last one's result."""
    states, folded = {}, Folded({}, [])
    for number, rows in enumerate(ticks, 1):
        folded = fold(number, [(KEY, each) for each in rows], states)
        states |= folded.states
    return folded


def end(row, kind, tick, by):
    return RowEnd(row.row_id, row.lane, row.offset, kind, tick, by.row_id, KEY)


OLD, NEW = version(10, 1), version(20, 2, tick=2)


def test_the_first_row_of_a_key_ends_nothing():
    assert played([OLD]) == Folded({KEY: (OLD,)}, [])


def test_a_newer_row_ends_the_old_one():
    """The seed ends the new row: getDeleteEvent(newEvent)."""
    assert played([OLD], [NEW]).ends == [end(OLD, EndKind.SUPERSEDED, 2, by=NEW)]


def test_an_end_names_segment_and_offset_of_the_old_record():
    old, new = version(10, 7, lane=3), version(20, 9, tick=2, lane=1)
    (found,) = played([old], [new]).ends
    assert (found.lane, found.offset, found.row_id) == (3, 7, old.row_id)


def test_a_row_older_than_the_newest_is_born_dead():
    late = version(5, 2, tick=2)
    assert played([OLD], [late]) == Folded({KEY: (OLD, late)}, [end(late, EndKind.LATE, 2, by=OLD)])


def test_a_delete_ends_the_row_and_has_no_end_itself():
    deleting, reviving = deletion(20, 2, tick=2), version(30, 3, tick=3)
    assert played([OLD], [deleting]).ends == [end(OLD, EndKind.DELETED, 2, by=deleting)]
    assert played([OLD], [deleting], [reviving]).ends == []


def test_a_late_delete_does_nothing():
    assert played([OLD], [deletion(5, 2, tick=2)]).ends == []


def test_a_delete_holds_against_late_older_rows():
    deleting, late = deletion(20, 2, tick=2), version(15, 3, tick=3)
    assert played([OLD], [deleting], [late]).ends == [end(late, EndKind.LATE, 3, by=deleting)]


def test_all_but_the_newest_row_of_a_tick_end_with_it():
    first, second, third = version(1, 1), version(3, 2), version(2, 3)
    assert played([first, second, third]).ends == [
        end(first, EndKind.SUPERSEDED, 1, by=second),
        end(third, EndKind.SUPERSEDED, 1, by=second),
    ]


def test_losers_of_a_late_row_and_the_late_row_end_once_each():
    loser, late = version(1, 2, tick=2), version(2, 3, tick=2)
    assert played([OLD], [late, loser]).ends == [
        end(loser, EndKind.SUPERSEDED, 2, by=late),
        end(late, EndKind.LATE, 2, by=OLD),
    ]


def test_losers_of_a_delete_are_deleted():
    loser, deleting = version(1, 1), deletion(2, 2)
    assert played([loser, deleting]).ends == [end(loser, EndKind.DELETED, 1, by=deleting)]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (version(1, 4), version(1, 5)),
        (version(1, 9, lane=0), version(1, 2, lane=1)),
        (Version(1, 0, 5, 0, 5, False), Version(1, 0, 5, 1, 6, False)),
    ],
    ids=["later offset", "lane of larger number", "later row of a record"],
)
def test_ties_are_decided_by_the_coordinates(older, newer):
    for rows in permutations((older, newer)):
        assert reduced(rows).best == newer


def test_an_order_below_zero_is_older():
    assert played([version(-1, 1)], [version(0, 2, tick=2)]).states[KEY][0].order == 0


def test_ends_come_by_row_id_whatever_the_order_of_the_rows():
    rows = [(KEY, version(1, 1)), (OTHER, version(1, 2)), (KEY, version(2, 3))]
    rows += [(OTHER, version(2, 4)), (KEY, version(0, 5))]
    found = {tuple(fold(1, each, {}).ends) for each in permutations(rows)}
    assert len(found) == 1
    assert [each.offset for each in next(iter(found))] == [1, 2, 5]


def test_a_tick_folded_twice_into_a_state_ends_its_own_row():
    """So a state is brought to the tick before, exactly."""
    once = fold(1, [(KEY, OLD)], {})
    assert fold(1, [(KEY, OLD)], once.states).ends == [end(OLD, EndKind.SUPERSEDED, 1, by=OLD)]


versions = st.builds(
    Version,
    order=st.integers(-3, 3),
    lane=st.integers(0, 2),
    offset=st.integers(0, 3),
    row=st.integers(0, 1),
    row_id=st.just(0),
    is_delete=st.booleans(),
)
histories = st.lists(
    st.lists(st.tuples(st.sampled_from([KEY, OTHER]), versions), max_size=6), max_size=5
)


@given(histories)
def test_what_no_end_names_is_the_newest_row_of_each_key_and_nothing_else(history):
    """Brute force over any history: the rows that live after each tick are a max per key."""
    states, ended, seen = {}, {}, {}
    taken = set()
    for tick, drawn in enumerate(history, 1):
        rows = []
        for key, each in drawn:
            coordinates = each[1:4]
            if coordinates not in taken:  # a record comes once
                taken.add(coordinates)
                row_id = (tick << ROW_BITS) + len(rows)
                rows.append((key, each._replace(row_id=row_id)))
        folded = fold(tick, rows, states)
        states |= folded.states
        for each in folded.ends:
            assert each.tick == tick
            assert ended.setdefault(each.row_id, each) is each, "a row ended twice"
        for key, each in rows:
            seen.setdefault(key, []).append(each)
        for key, all_of_key in seen.items():
            newest = max(all_of_key)
            living = [x for x in all_of_key if not x.is_delete and x.row_id not in ended]
            assert living == ([] if newest.is_delete else [newest])
            assert states[key][0] == newest


@given(histories)
def test_a_state_read_from_living_rows_and_deletes_gives_the_same_ends(history):
    states, dead = {}, set()
    rows_so_far = []
    for tick, drawn in enumerate(history, 1):
        rows = [
            (key, each._replace(offset=100 * tick + at, row_id=(tick << ROW_BITS) + at))
            for at, (key, each) in enumerate(drawn)
        ]
        facts = [
            (key, each) for key, each in rows_so_far if each.is_delete or each.row_id not in dead
        ]
        folded = fold(tick, rows, states)
        assert fold(tick, rows, bootstrapped(facts)).ends == folded.ends
        states |= folded.states
        dead |= {each.row_id for each in folded.ends}
        rows_so_far += rows


def test_a_merged_state_keeps_two():
    assert merged((NEW, OLD), version(15, 3)) == (NEW, version(15, 3))


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=6))
def test_a_state_that_was_read_without_rows_of_days_that_are_over_gives_the_same_ends(drawn):
    """Rows of a tick are never of such a day, as they are admitted."""
    states: dict[bytes, KeyState] = {}
    for number, (order, is_delete) in enumerate(drawn):
        version = Version(order, 0, number, 0, number << ROW_BITS, is_delete)
        states[KEY] = merged(states.get(KEY, ()), version)
    newest = states[KEY][0]
    for since in range(newest.order + 3):
        row = Version(since, 0, 99, 0, 99 << ROW_BITS, False)
        read = {} if newest.order < since else {KEY: (newest,)}
        anew = fold(99, [(KEY, row)], read, since).ends
        assert fold(99, [(KEY, row)], states, since).ends == anew
        if newest.order < since and not newest.is_delete:
            assert fold(99, [(KEY, row)], states).ends != anew
