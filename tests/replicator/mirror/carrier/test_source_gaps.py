"""A record behind a gap is covered once a committed entry lists the gap."""

from replicator.mirror.carrier.source_gaps import SourceGaps
from replicator.mirror.ledger.entry import SEQUENCE_MASK, Gap


def test_records_up_to_the_first_uncovered_gap_are_covered():
    gaps = SourceGaps(0)
    gaps.add(5, 3)
    assert gaps.are_covered(5) and not gaps.are_covered(6)
    gaps.covered_to = 8
    gaps.add(9, 1)
    assert gaps.are_covered(9) and not gaps.are_covered(10)


def test_gaps_are_listed_by_the_records_between_them_across_the_end_of_the_sequences():
    begin = SEQUENCE_MASK - 1
    gaps = SourceGaps(begin)
    gaps.add(SEQUENCE_MASK, 3)
    gaps.add(4, 7)
    assert gaps.listed(begin, 10) == ((Gap(1, 3), Gap(5, 7)), 10)


def test_no_more_gaps_are_listed_than_fit():
    gaps = SourceGaps(0, bytes_max=len("1,1,") * 2)
    for sequence in (1, 2, 3):
        gaps.add(sequence, 1)
    assert gaps.listed(0, 4) == ((Gap(1, 1), Gap(1, 1)), 3)


def test_gaps_of_landed_and_of_dropped_records_are_forgotten():
    gaps = SourceGaps(0)
    for sequence in (1, 2, 3):
        gaps.add(sequence, 1)
    gaps.drop_before(2)
    gaps.drop_from(3)
    assert gaps.listed(1, 3) == ((Gap(1, 1),), 3)


def test_a_gap_is_shortened_until_nothing_is_left_to_list():
    gaps = SourceGaps(0)
    gaps.add(0, 5)
    gaps.add(3, 5)
    gaps.shorten(0, 2)
    assert gaps.listed(0, 9) == ((Gap(0, 3), Gap(3, 5)), 9)
    gaps.shorten(0, 4)
    assert gaps.listed(0, 9) == ((Gap(3, 5),), 9)
    assert not gaps.are_covered(1)


def test_a_gap_of_nothing_waits_for_an_entry_and_is_not_listed():
    gaps = SourceGaps(0)
    gaps.add(3, 0)
    gaps.add(5, 2)
    assert not gaps.are_covered(4)
    listed, gaps.covered_to = gaps.listed(0, 9)
    assert listed == (Gap(5, 2),)
    assert gaps.are_covered(9)
