"""Cursors of datums that are read in step."""

from tests.aggregator.formats.datums import cursors_over, encoded


def test_a_number_is_read_from_each_datum():
    cursors = cursors_over([encoded("long", value) for value in (-1, 300, 2**63 - 1)])
    assert cursors.number().tolist() == [-1, 300, 2**63 - 1]
    assert (cursors.at == cursors.end).all()
    assert not cursors.is_broken.any()


def test_a_number_beyond_the_end_breaks_its_datum_only():
    cursors = cursors_over([b"\x02", b"", b"\x80", b"\x04"])
    assert cursors.number().tolist() == [1, 0, 0, 2]
    assert cursors.is_broken.tolist() == [False, True, True, False]
    assert cursors.at.tolist() == cursors.end.tolist()


def test_content_ends_within_its_datum():
    cursors = cursors_over([b"\x04ab", b"\x04a", b"\x01a", b"\x00"])
    begin, end = cursors.content()
    assert (end - begin).tolist() == [2, 0, 0, 0]
    assert cursors.is_broken.tolist() == [False, True, True, False]


def test_a_broken_datum_stays_broken_and_is_read_as_zero():
    cursors = cursors_over([b"\x01", b"\x02\x03"])
    cursors.fixed(2)
    assert cursors.octet().tolist() == [0, 0]
    assert cursors.is_broken.all()


def test_some_cursors_are_moved_and_rejoined():
    cursors = cursors_over([b"\x02\x04", b"\x06", b"\x02"])
    cursors.number()
    part = cursors.some([0, 2])
    assert part.number().tolist() == [2, 0]
    before = cursors.is_broken
    cursors.rejoin([0, 2], part)
    assert cursors.at.tolist() == [2, 3, 4]
    assert cursors.is_broken.tolist() == [False, False, True]
    assert not before.any()
