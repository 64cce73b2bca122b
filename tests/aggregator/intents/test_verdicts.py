"""Verdicts: between all small ranges exactly one holds, and the arithmetic of gaps is exact."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise, product

import pytest

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import Manifest, TableRange
from aggregator.intents.verdicts import Anomaly, Finding, between, within
from replicator.kafka.client.custody import Custody

OFFSETS = range(6)
RANGES = [TableRange(begin, end) for begin in OFFSETS for end in range(begin, 6)]
"""All ranges up to offset 5; those with begin = end are markers."""


def intent(offset=0, tables=None, **fields):
    fields = {"reference": 0, "count": 100, "transactional_id": "loader", **fields}
    return Intent(custody=Custody.HELD, offset=offset, tables=tables or {}, **fields)


def of_table(before, after):
    """Returns the findings about a table that both intents name, from offset 0 on."""
    found = between(intent(tables={"t": before}), intent(tables={"t": after}))
    return [each for each in found if each.table == "t"]


def loaded_twice(before, after):
    """Returns the offsets of `after` that are known to be sent already.

    All of the table below the end of `before` was sent, and all from the begin of `after` on is
    sent now: up to its end, or without a limit if it is a marker.
    """
    sent_now = range(after.begin, 6 if after.is_marker else after.end)
    return set(sent_now) & set(range(before.end))


# -- tables


@pytest.mark.parametrize("before", RANGES, ids=str)
def test_exactly_one_verdict_holds_for_any_two_ranges(before):
    for after in RANGES:
        is_equal = before == after
        is_right = is_equal or after.begin >= before.end
        is_backward = not is_equal and after.end <= before.begin
        is_overlap = not is_equal and before.begin < after.end and after.begin < before.end
        assert [is_right, is_backward, is_overlap].count(True) == 1, (before, after)
        expected = [Anomaly.BACKWARD] * is_backward + [Anomaly.OVERLAP] * is_overlap
        assert [each.anomaly for each in of_table(before, after)] == expected, (before, after)


@pytest.mark.parametrize("before", RANGES, ids=str)
def test_a_finding_names_the_offsets_that_are_loaded_twice(before):
    for after in RANGES:
        for found in of_table(before, after):
            offsets = set(range(found.begin, found.end))
            assert offsets == loaded_twice(before, after), (before, after, found)
            assert offsets


@pytest.mark.parametrize("before", RANGES, ids=str)
def test_a_right_verdict_means_that_nothing_is_loaded_twice(before):
    for after in RANGES:
        if not of_table(before, after) and before != after:
            assert not loaded_twice(before, after), (before, after)


def test_a_block_may_begin_where_the_one_before_ended_and_not_one_record_earlier():
    before = TableRange(2, 5, records=3)
    assert not of_table(before, TableRange(5, 8, records=3))
    (found,) = of_table(before, TableRange(4, 8, records=4))
    assert found == Finding(Anomaly.OVERLAP, 4, 5, "t")


def test_a_block_that_ends_where_the_one_before_began_is_backward_not_overlapping():
    (found,) = of_table(TableRange(3, 5), TableRange(1, 3))
    assert found == Finding(Anomaly.BACKWARD, 1, 3, "t")


def test_a_marker_may_not_stand_inside_the_block_before_or_at_its_begin():
    before = TableRange(2, 5)
    assert not of_table(before, TableRange(5, 5))
    assert of_table(before, TableRange(4, 4)) == [Finding(Anomaly.OVERLAP, 4, 5, "t")]
    assert of_table(before, TableRange(2, 2)) == [Finding(Anomaly.BACKWARD, 2, 5, "t")]


def test_a_block_in_flight_is_named_again_by_each_intent():
    block = TableRange(2, 5, records=3, schema="abcd", sealed_at_ms=7)
    assert not of_table(block, block)
    assert not of_table(block, replace(block, sealed_at_ms=8))


@pytest.mark.parametrize("change", [{"records": 2}, {"schema": "efgh"}])
def test_a_block_formed_again_of_other_records_or_columns_overlaps_the_one_before(change):
    block = TableRange(2, 5, records=3, schema="abcd")
    assert of_table(block, replace(block, **change)) == [Finding(Anomaly.OVERLAP, 2, 5, "t")]


@pytest.mark.parametrize("before", RANGES, ids=str)
def test_right_is_transitive_so_that_a_missed_intent_gives_no_false_alarm(before):
    for middle, after in product(RANGES, RANGES):
        if not of_table(before, middle) and not of_table(middle, after):
            assert not of_table(before, after), (before, middle, after)


def test_a_table_that_is_not_named_counts_as_a_marker_at_the_offset():
    named = intent(offset=3, tables={"t": TableRange(3, 6), "u": TableRange(5, 5)})
    silent = intent(offset=6)
    assert not list(between(named, silent))
    (found,) = between(named, replace(silent, offset=5))
    assert found == Finding(Anomaly.OVERLAP, 5, 6, "t")
    assert not list(between(silent, intent(offset=6, tables={"new": TableRange(6, 9)})))
    found, *_ = between(silent, intent(offset=4, tables={"new": TableRange(4, 9)}))
    assert found == Finding(Anomaly.OVERLAP, 4, 6, "new")


def test_each_table_has_a_verdict_of_its_own():
    before = intent(tables={"a": TableRange(0, 4), "b": TableRange(1, 5), "c": TableRange(2, 6)})
    after = intent(tables={"a": TableRange(4, 8), "b": TableRange(0, 1), "c": TableRange(3, 9)})
    assert [(each.table, each.anomaly) for each in between(before, after)] == [
        ("b", Anomaly.BACKWARD),
        ("c", Anomaly.OVERLAP),
    ]


# -- the whole partition


def test_an_offset_that_goes_back_is_backward_also_if_no_table_is_named():
    (found,) = between(intent(offset=5), intent(offset=3))
    assert found == Finding(Anomaly.BACKWARD, 3, 5)
    assert str(found) == "backward: offsets [3, 5)"


@pytest.mark.parametrize(("reference", "count"), [*product(range(4), range(4))])
def test_a_gap_is_found_exactly_where_too_little_is_accounted_for(reference, count):
    for holes, length in product(range(4), range(12)):
        offset = reference + length
        before = intent(offset=reference, reference=reference, count=count)
        after = intent(offset=offset, reference=reference, count=count + 5, holes=holes)
        accounted = reference + count + holes
        expected = [Finding(Anomaly.GAP, accounted, offset)] if accounted < offset else []
        assert list(between(before, after)) == expected


def flush(up_to, **fields):
    return intent(offset=up_to, up_to=up_to, **fields)


@pytest.mark.parametrize(("reference", "count"), [*product(range(4), range(4))])
def test_at_a_forced_flush_every_offset_is_accounted_for_exactly(reference, count):
    for holes, length in product(range(4), range(9)):
        up_to = reference + length
        found = within(flush(up_to, reference=reference, count=count, holes=holes))
        if count + holes == length:
            assert found is None
        else:
            anomaly = Anomaly.GAP if count + holes < length else Anomaly.SURPLUS
            assert found == Finding(anomaly, reference, up_to)


def test_an_intent_that_is_no_forced_flush_has_no_balance():
    assert within(intent(offset=50, count=1)) is None


def test_the_next_intent_counts_from_the_forced_flush():
    before = flush(10, count=8, holes=2)
    assert not list(between(before, intent(offset=10, reference=10, count=0)))
    assert not list(between(before, intent(offset=12, reference=10, count=0, holes=2)))
    (found,) = between(before, intent(offset=12, reference=10, count=2))
    assert found == Finding(Anomaly.GAP, 10, 12)


def test_a_forced_flush_that_is_named_again_by_the_next_holder_is_right():
    before = flush(10, count=8, holes=2)
    assert not list(between(before, replace(before, epoch=4, transactional_id="other")))


def test_the_next_holder_of_a_forced_flush_must_not_change_its_balance():
    before = flush(10, count=8, holes=2)
    (found,) = between(before, replace(before, reference=4, count=4, up_to=10))
    assert found.anomaly is Anomaly.GAP


@pytest.mark.parametrize("reference", [2, 7])
def test_a_reference_that_moves_without_a_forced_flush_is_a_gap(reference):
    (found,) = between(
        intent(offset=9, reference=5), intent(offset=9, reference=reference, count=9)
    )
    assert found == Finding(Anomaly.GAP, min(5, reference), max(5, reference))


def test_a_reference_that_jumps_over_the_end_of_the_forced_flush_is_a_gap():
    (found,) = between(flush(10, count=10), intent(offset=12, reference=12))
    assert found == Finding(Anomaly.GAP, 10, 12)


# -- a planted fault at each place


LOG = (0, 1, 3, 4, 7, 8, 9)
"""Offsets of the records of a log that ends at 10; the others are holes."""
END = 10


def history(blocks):
    """Returns the intents of a clean history of one table: a block in flight at a time."""
    intents, count = [intent(count=0)], 0
    for block in blocks:
        count += len(block)
        table = TableRange(block[0], block[-1] + 1, records=len(block))
        holes = block[0] - sum(each < block[0] for each in LOG)
        intents.append(intent(offset=block[0], tables={"t": table}, count=count, holes=holes))
    return [*intents, flush(END, count=count, holes=END - len(LOG))]


def cuts(records):
    """Yields the blocks of each way to cut the records into consecutive blocks."""
    for number in range(len(records)):
        for at in combinations(range(1, len(records)), number):
            edges = [0, *at, len(records)]
            yield [records[begin:end] for begin, end in pairwise(edges)]


def findings(intents):
    pairs = [each for before, after in pairwise(intents) for each in between(before, after)]
    return [*pairs, *filter(None, map(within, intents))]


def test_a_clean_history_is_right_however_it_is_cut_into_blocks():
    for blocks in cuts(LOG):
        assert not findings(history(blocks)), blocks


def test_a_record_that_no_block_holds_is_a_gap_wherever_it_stood():
    for missing in LOG:
        for blocks in cuts([offset for offset in LOG if offset != missing]):
            found = {each.anomaly for each in findings(history(blocks))}
            assert found == {Anomaly.GAP}, (missing, blocks)


def test_a_record_that_two_blocks_hold_is_found_wherever_it_stood():
    for blocks in cuts(LOG):
        for at, (first, second) in enumerate(pairwise(blocks)):
            again = [*blocks[: at + 1], (first[-1], *second), *blocks[at + 2 :]]
            found = {each.anomaly for each in findings(history(again))}
            assert found == {Anomaly.OVERLAP, Anomaly.SURPLUS}, again


def test_blocks_in_the_wrong_order_go_backward_wherever_they_stood():
    for blocks in cuts(LOG):
        for at in range(len(blocks) - 1):
            swapped = [*blocks]
            swapped[at : at + 2] = swapped[at + 1], swapped[at]
            assert Anomaly.BACKWARD in {each.anomaly for each in findings(history(swapped))}


# -- objects


def of_objects(offset, **fields):
    fields = {"count": 0, "position": offset, **fields}
    return intent(offset, reference=fields.pop("reference", offset), **fields)


@pytest.mark.parametrize(("off", "anomaly"), [(-1, Anomaly.GAP), (0, None), (1, Anomaly.SURPLUS)])
def test_an_intent_of_objects_accounts_for_each_offset_up_to_its_position(off, anomaly):
    found = within(of_objects(10, count=7, open_records=2 + off, holes=1, position=20))
    assert (found and found.anomaly) == anomaly


def test_a_loader_that_takes_over_counts_from_the_offset_and_from_nowhere_else():
    before = of_objects(30, reference=10, count=20)
    assert [*between(before, of_objects(40, reference=10, count=30))] == []
    assert [*between(before, of_objects(40, reference=30, count=10))] == []
    (found,) = between(before, of_objects(40, reference=35, count=5))
    assert found == Finding(Anomaly.GAP, 30, 35)


def test_an_object_that_is_sealed_again_with_other_bytes_is_the_same_range():
    one = Manifest(10, 20, 10, size_bytes=5, crc32c=7, token="a")
    other = replace(one, size_bytes=6, crc32c=8, token="b")
    tables = [{"year=2013": each} for each in (one, other, replace(one, end=19))]
    first, again, shorter = (of_objects(10, tables=each) for each in tables)
    assert [*between(first, again)] == []
    assert [each.anomaly for each in between(first, shorter)] == [Anomaly.OVERLAP]
