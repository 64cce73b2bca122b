"""Comparison of two logs, and the verdict on what was counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.audit.claims import Claims
from replicator.audit.log_content import Fingerprints, LogContent
from replicator.audit.record_counts import (
    COMPACTED,
    EXPIRED,
    GONE,
    NEVER_BEGUN,
    RUNS_UNKNOWN,
    UNCLAIMED,
    PriorKnowledge,
    RecordCounts,
    compare_records,
)
from replicator.audit.verdict import Row, Verdict, by_topic, verdict
from replicator.mirror.offset_map.spans import Span, Spans
from tests.replicator.audit.offset_sets import spans

# -- The comparison of two logs finds every record that is not the same, and no other.

AHEAD = 100
"""Distance of the target's offsets from the source's."""
LENGTH = 30
SPAN = Span(0, LENGTH)
ALL = frozenset(range(LENGTH))
SOME = st.frozensets(st.integers(0, LENGTH - 1))


def fingerprints(contents: dict[int, int]) -> Fingerprints:
    at = sorted(contents)
    content = np.array([contents[offset] for offset in at], dtype=np.int64)
    return Fingerprints(np.array(at, dtype=np.int64), content, np.full(len(at), 10))


def claims(claimed: frozenset[int]) -> Claims:
    at = np.array(sorted(claimed), dtype=np.int64)
    return Claims(at, at + AHEAD, np.ones(len(at), dtype=np.int64))


def counted(
    source=ALL,
    claimed=ALL,
    there=ALL,
    *,
    invisible=frozenset(),
    changed=frozenset(),
    foreign: dict[int, int] | None = None,
    with_fingerprints: bool = True,
    **more,
) -> RecordCounts:
    """Tallies source offsets; the target holds records at the offsets of those in `there`."""
    prior = PriorKnowledge(
        claims=claims(claimed),
        known=more.pop("known", Spans(SPAN)),
        target_log=more.pop("target_log", Span(0, AHEAD + LENGTH)),
        **more,
    )
    ours = fingerprints({at: at for at in source} if with_fingerprints else {})
    landed = {at + AHEAD: -1 - at if at in changed else at for at in there}
    theirs = fingerprints(landed if with_fingerprints else {})
    return compare_records(
        prior,
        SPAN,
        LogContent(spans(source), spans(invisible), ours),
        LogContent(spans(at + AHEAD for at in there), Spans(), theirs),
        fingerprints(foreign or {}),
    )


@given(SOME, SOME, SOME, SOME, st.booleans())
def test_missing_surplus_and_changed_records_are_counted_exactly(
    absent, unclaimed, holes, changed, with_fingerprints
):
    """Offsets in `absent` are invisible. All runs are published; no log has lost anything."""
    source, claimed, there = ALL - absent, ALL - unclaimed, ALL - holes
    found = counted(
        source,
        claimed,
        there,
        invisible=absent,
        changed=changed,
        with_fingerprints=with_fingerprints,
    )
    landed = claimed & there
    assert found.source_records == len(source)
    assert found.target_records == len(landed)
    assert found.missing == len(source - landed)
    assert found.surplus == len(landed - source)
    assert found.changed == (len(source & landed & changed) if with_fingerprints else 0)
    assert not found.doubts
    is_equal = source == landed and not (changed & source and with_fingerprints)
    assert (not found.examples) is is_equal


@given(SOME, SOME)
def test_records_that_a_log_has_lost_are_a_doubt_and_never_a_difference(gone, holes):
    found = counted(ALL - gone, ALL, ALL - holes, target_compacts=True)
    assert (found.missing, found.surplus, found.changed) == (0, 0, 0)
    expected = {GONE: len(gone), COMPACTED: len(holes - gone)}
    assert found.doubts == {why: count for why, count in expected.items() if count}


def test_records_below_the_targets_first_offset_have_expired():
    there = ALL - set(range(8))
    found = counted(there=there, target_log=Span(AHEAD + 8, AHEAD + LENGTH))
    assert (found.doubts, found.missing) == ({EXPIRED: 8}, 0)
    # The same once the runs of those records are forgotten.
    rest = Spans(Span(8, LENGTH))
    found = counted(claimed=there, there=there, known=rest, trimmed=8)
    assert (found.doubts, found.missing) == ({EXPIRED: 8}, 0)


def test_records_behind_the_targets_last_offset_are_missing_even_if_the_cleaner_works():
    there = ALL - set(range(20, LENGTH))
    found = counted(there=there, target_log=Span(0, AHEAD + 20), target_compacts=True)
    assert (found.missing, found.examples) == (10, ("missing: source offsets 20..29",))


def test_records_whose_runs_are_not_known_are_a_doubt():
    found = counted(claimed=ALL - {4, 5, 6}, known=Spans(Span(0, 5), Span(7, LENGTH)))
    assert (found.doubts, found.missing) == ({RUNS_UNKNOWN: 2}, 1)


def test_records_before_the_start_of_mirroring_are_not_missing():
    rest = ALL - set(range(12))
    found = counted(claimed=rest, there=rest, began=12)
    assert (found.doubts, found.missing) == ({NEVER_BEGUN: 12}, 0)


def test_a_record_at_an_unclaimed_offset_is_not_missing_once_it_is_read():
    rest = ALL - {7}
    assert counted(claimed=rest, there=rest).missing == 1
    found = counted(claimed=rest, there=rest, foreign={300: 7, 301: 99})
    assert (found.missing, found.doubts, found.surplus) == (0, {UNCLAIMED: 1}, 0)


def test_a_record_that_is_there_twice_is_surplus():
    found = counted(foreign={300: 7, 301: 99})
    assert (found.surplus, found.examples) == (1, ("there twice: source offset 7",))


def test_tallies_add_up_and_keep_a_few_examples():
    one = counted(there=ALL - {3})
    two = counted(there=ALL - {5, 6}) + RecordCounts(doubts={GONE: 2}, notes=("n",))
    both = one + two + two
    assert (both.missing, both.source_records, both.source_bytes) == (5, 90, 900)
    assert (both.doubts, both.notes) == ({GONE: 4}, ("n",))
    assert both.examples[0] == "missing: source offset 3"
    many = sum([one] * 9, RecordCounts())
    assert len(many.examples) == 5


# -- The verdict is the worst of what was counted, and EQUAL only if nothing is left open.

WORST_FIRST = [
    (RecordCounts(missing=1), Verdict.MISSING),
    (RecordCounts(surplus=1), Verdict.SURPLUS),
    (RecordCounts(changed=1), Verdict.CHANGED),
    (RecordCounts(doubts={"gone": 1}), Verdict.INCOMPLETE),
    (RecordCounts(behind=1), Verdict.BEHIND),
    (RecordCounts(source_records=5, target_records=5, foreign=3), Verdict.EQUAL),
]


@pytest.mark.parametrize("worse", range(len(WORST_FIRST)))
@pytest.mark.parametrize("better", range(len(WORST_FIRST)))
def test_the_worse_of_two_verdicts_counts(worse: int, better: int) -> None:
    both = WORST_FIRST[worse][0] + WORST_FIRST[better][0]
    assert verdict(both) is WORST_FIRST[min(worse, better)][1]


def test_offsets_behind_an_open_transaction_are_behind() -> None:
    assert verdict(RecordCounts(held_back=1)) is Verdict.BEHIND


def test_only_missing_surplus_and_changed_are_differences() -> None:
    differing = {each for each in Verdict if each.is_difference}
    assert differing == {Verdict.MISSING, Verdict.SURPLUS, Verdict.CHANGED}


def test_a_topic_has_the_verdict_of_its_worst_partition_and_names_it() -> None:
    rows = [
        Row("west>east", "orders", 0, RecordCounts(source_records=3)),
        Row(
            "west>east",
            "orders",
            1,
            RecordCounts(missing=2, examples=("missing: ...",), notes=("x",)),
        ),
        Row("west>west", "orders", 0, RecordCounts(behind=1)),
    ]
    to_east, to_west = by_topic(rows)
    assert (to_east.route, to_east.partition, to_east.verdict) == (
        "west>east",
        None,
        Verdict.MISSING,
    )
    assert (to_east.counted.source_records, to_east.counted.missing) == (3, 2)
    assert to_east.counted.examples == ("partition 1: missing: ...",)
    assert to_east.counted.notes == ("partition 1: x",)
    assert (to_west.route, to_west.verdict) == ("west>west", Verdict.BEHIND)
