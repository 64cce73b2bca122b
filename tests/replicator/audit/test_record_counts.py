"""The comparison of two logs finds every record that is not the same, and no other."""

from __future__ import annotations

import numpy as np
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
from replicator.mirror.offset_map.spans import Span, Spans
from tests.replicator.audit.offset_sets import spans

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
