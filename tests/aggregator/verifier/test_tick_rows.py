"""Rows of ticks against claims and records."""

from __future__ import annotations

import pytest

from aggregator.upsert.tick import OPEN, ROW_BITS, Stop
from aggregator.verifier.claim_history import Claim
from aggregator.verifier.tick_rows import (
    LaneLog,
    LoggedRow,
    StoredRow,
    Ticks,
    compared_rows,
    cut_offsets,
)
from replicator.kafka.client.loss import Loss, LossKind
from tests.aggregator.verifier.ticks import lane

PLACES = [("west regional", "departures", each) for each in range(3)]
LANES = [lane(each) for each in range(3)]


def claim(number, *ends, rows, expired=0, letters=0):
    return Claim(1, number, number * 1000, ends, rows, 0, expired, letters)


# Tick 1 takes 0..2 and 0..1, tick 2 takes 3..4 of lane 0 and 5..6 of lane 2, which joins.
CLAIMS = [claim(1, 3, 2, rows=5), claim(2, 5, 2, 7, rows=4)]
TICKS = Ticks(CLAIMS, 1, LANES)


def row(tick, number, at, offset, **fields):
    row_id = (tick << ROW_BITS) + number
    return StoredRow(row_id, b"", offset, PLACES[at], offset, 0, False, OPEN)._replace(**fields)


ROWS = [
    *(row(1, each, 0, each) for each in range(3)),
    *(row(1, 3 + each, 1, each) for each in range(2)),
    row(2, 0, 0, 3),
    row(2, 1, 0, 4),
    row(2, 2, 2, 5),
    row(2, 3, 2, 6),
]


def log(*offsets, begin=0, **fields):
    return LaneLog(begin, {(each, 0): LoggedRow(each, each) for each in offsets}, **fields)


LOGS = {0: log(0, 1, 2, 3, 4), 1: log(0, 1), 2: log(5, 6, begin=5)}


def difference(rows, logs=LOGS, ticks=TICKS, *, by_timestamp=True):
    it = compared_rows(ticks, rows, logs, 1, is_ordered_by_timestamp=by_timestamp)
    names = ("missing", "surplus", "doubled", "changed", "compacted")
    return {name: getattr(it, name) for name in names if getattr(it, name)}, it


def test_rows_that_are_where_they_have_to_be_do_not_differ():
    found, it = difference(ROWS)
    assert found == {} and not it.texts
    assert [*it.right] == [each.row_id for each in ROWS]


def test_a_row_that_was_removed_is_named_by_its_offset():
    found, it = difference([each for each in ROWS if each is not ROWS[1]])
    assert found == {"missing": 1}
    assert it.texts == ["1 rows are missing: offsets 1 of lane 0"]


def test_rows_of_days_that_are_over_may_be_dropped_and_no_others():
    """The time of a record is its offset here."""

    def missing(*gone, may_lack=(1,)):
        rows = [each for each in ROWS if each not in gone]
        return compared_rows(
            TICKS,
            rows,
            LOGS,
            1,
            is_ordered_by_timestamp=True,
            dropped_before_s=2,
            may_lack=may_lack,
        ).missing

    assert missing(ROWS[0], ROWS[1], ROWS[3]) == 0
    assert missing(ROWS[0], ROWS[2]) == 1
    assert missing(ROWS[8]) == 1
    assert missing(ROWS[0], may_lack=()) == 1


def test_expired_rows_and_dead_letters_are_missed_by_their_number_only():
    ticks = Ticks([claim(1, 3, 2, rows=3, expired=1, letters=1), CLAIMS[1]], 1, LANES)
    without = [each for each in ROWS if each not in (ROWS[1], ROWS[3])]
    assert difference(without, ticks=ticks)[0] == {}
    found, it = difference(without[1:], ticks=ticks)
    assert found == {"missing": 1} and "among offsets 0 of lane 0" in it.texts[0]


def test_records_that_are_neither_rows_nor_counted_are_missing():
    """The rows are as many as their claim counts, and the coordinator has passed over a record."""
    ticks = Ticks([claim(1, 3, 2, rows=4), CLAIMS[1]], 1, LANES)
    assert difference(ROWS[1:], ticks=ticks)[0] == {"missing": 1}


def test_a_dead_letter_excuses_all_rows_of_its_record_and_none_of_another():
    rows = {(each, number): LoggedRow(each, each) for each in (0, 1) for number in range(3)}
    ticks = Ticks([claim(1, 2, rows=3, letters=1)], 1, LANES)
    kept = [row(1, each, 0, 0, row=each) for each in range(3)]
    kept = [each._replace(row_id=(1 << ROW_BITS) + each.row) for each in kept]
    some = compared_rows(ticks, kept, {0: LaneLog(0, rows)}, 4, is_ordered_by_timestamp=True)
    assert some.missing == 0
    unread = {0: LaneLog(0, rows, dead=1)}
    some = compared_rows(ticks, kept, unread, 4, is_ordered_by_timestamp=True)
    assert some.missing == 3, "the letter is that of a record that cannot be read"


def test_a_record_that_cannot_be_read_has_to_be_a_dead_letter():
    logs = LOGS | {0: LaneLog(0, LOGS[0].rows, dead=2)}
    ticks = Ticks([claim(1, 3, 2, rows=5, letters=1), CLAIMS[1]], 1, LANES)
    found, it = difference(ROWS, logs, ticks)
    assert found == {"missing": 1} and "1 records are missing" in it.texts[0]


@pytest.mark.parametrize(
    ("foreign", "what"),
    [
        (ROWS[1], "doubled"),
        (ROWS[1]._replace(row_id=(2 << ROW_BITS) + 9), "surplus"),
        (ROWS[5]._replace(row_id=(1 << ROW_BITS) + 9), "surplus"),
        (ROWS[1]._replace(row_id=(1 << ROW_BITS) + 9), "surplus"),
        (ROWS[8]._replace(row_id=ROWS[8].row_id + 1), "surplus"),
        (ROWS[1]._replace(place=("west regional", "arrivals", 0)), "surplus"),
        (ROWS[1]._replace(offset=70), "surplus"),
    ],
    ids=["again", "of a later tick", "of an earlier", "other id", "other end", "topic", "offset"],
)
def test_a_foreign_row_speaks(foreign, what):
    assert difference([*ROWS, foreign])[0] == {what: [foreign.row_id]}


def test_of_two_ids_of_one_row_that_of_the_ranges_counts():
    ticks = Ticks([claim(1, 1, rows=1)], 1, LANES)
    own, other = row(1, 0, 0, 0), row(1, 9, 0, 0)
    for rows in ([own, other], [other, own]):
        assert difference(rows, {0: log(0)}, ticks)[0] == {"surplus": [other.row_id]}


def test_a_row_without_a_record_is_surplus_unless_the_log_may_have_lost_it():
    logs = LOGS | {0: log(0, 2, 3, 4)}
    assert difference(ROWS, logs)[0] == {"surplus": [ROWS[1].row_id], "missing": 1}
    compacted = LOGS | {0: log(0, 2, 3, 4, is_compacted=True)}
    assert difference(ROWS, compacted)[0] == {"compacted": 1}
    begun_later = LOGS | {0: log(2, 3, 4, begin=2)}
    assert difference(ROWS, begun_later)[0] == {}
    assert difference(ROWS, {})[0] == {}, "of lanes that cannot be read only the rows are counted"


def test_an_order_that_is_not_the_records_timestamp_speaks():
    rows = [ROWS[0]._replace(order=99), *ROWS[1:]]
    assert difference(rows)[0] == {"changed": [ROWS[0].row_id]}
    assert difference(rows, by_timestamp=False)[0] == {}


def test_an_empty_value_has_to_be_a_delete():
    logs = LOGS | {1: LaneLog(0, {(0, 0): LoggedRow(0, 0, is_bare=True), (1, 0): LoggedRow(1, 1)})}
    assert difference(ROWS, logs)[0] == {"changed": [ROWS[3].row_id]}
    rows = [each._replace(is_delete=each is ROWS[3]) for each in ROWS]
    assert difference(rows, logs)[0] == {}


def test_rows_of_a_log_that_was_cut_stay_beside_those_that_were_written_anew():
    claims = [claim(1, 5, rows=5), claim(2, 3, rows=0), claim(3, 6, rows=3)]
    former = [row(1, each, 0, each, order=each + 100 * (each > 2)) for each in range(5)]
    anew = [row(3, each, 0, 3 + each) for each in range(3)]
    cuts = cut_offsets({each.tick: each for each in claims}, ())
    assert cuts == {0: (range(3, 5),)}
    logs = {0: log(*range(6))}
    found, it = difference([*former, *anew], logs, Ticks(claims, 1, LANES, cuts))
    assert (found, it.uncompared) == ({}, 4)
    assert difference([*former, *anew], logs, Ticks(claims, 1, LANES))[0] != {}
    ticks = Ticks(claims, 1, LANES, cuts)
    assert difference([*former, *anew[:-1]], logs, ticks)[0] == {"missing": 1}
    assert difference([*former[:-1], *anew], logs, ticks)[0] == {"missing": 1}, "a claim counts it"


def test_where_a_lane_is_stopped_at_a_cut_its_rows_are_not_compared_with_what_was_written_anew():
    stops = [
        Stop(0, Loss(LossKind.SOURCE_TRUNCATED, 3, 5)),
        Stop(1, Loss(LossKind.RETENTION_PASSED, 3, 5)),
    ]
    assert cut_offsets({}, stops) == {0: (range(3, 5),)}
    claims = {each.tick: each for each in (claim(1, 9, rows=9), claim(2, 4, rows=0))}
    assert cut_offsets(claims, stops) == {0: (range(3, 5), range(4, 9))}


def test_what_is_between_two_cuts_of_a_lane_is_compared():
    ends = (9, 7, 60, 58, 59)
    claims = [claim(tick, end, rows=0) for tick, end in enumerate(ends, 1)]
    cuts = cut_offsets({each.tick: each for each in claims}, ())
    ticks = Ticks(claims, 1, LANES, cuts)
    cut = [offset for offset in range(70) if ticks.is_cut(0, offset)]
    assert cut == [7, 8, 58, 59]
