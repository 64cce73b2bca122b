"""Digests and differences of rows: as a multiset of identities would have them."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aggregator.store.recognition import Identities
from aggregator.verifier.row_digest import (
    CHUNK_OFFSETS,
    Digest,
    chunks,
    difference,
    digest,
    ranges,
)

identities = st.tuples(st.integers(0, 30), st.integers(0, 2))
unique = st.sets(identities, max_size=30)
any_offset = st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 2**32 - 1))


def rows(pairs):
    found = list(pairs)
    return Identities(
        np.array([offset for offset, _ in found], np.int64),
        np.array([row for _, row in found], np.int64),
    )


@given(unique, st.lists(identities, max_size=40))
def test_differences_are_those_of_multisets(expected, found):
    counted = Counter(found)
    differing = difference(rows(sorted(expected)), rows(found))
    assert sorted(differing.missing.tolist()) == sorted(o for o, _ in expected - counted.keys())
    assert sorted(differing.surplus.tolist()) == sorted(o for o, _ in counted.keys() - expected)
    doubled = sorted(offset for (offset, _), count in counted.items() if count > 1)
    assert sorted(differing.doubled.tolist()) == doubled


@given(st.lists(any_offset, max_size=20), st.randoms())
def test_a_digest_does_not_depend_on_the_order(found, random):
    shuffled = list(found)
    random.shuffle(shuffled)
    assert digest(rows(found)) == digest(rows(shuffled))


@given(st.lists(identities, max_size=20), st.lists(identities, max_size=20))
def test_digests_are_equal_for_equal_multisets_only(one, other):
    assert (digest(rows(one)) == digest(rows(other))) == (Counter(one) == Counter(other))


def test_nothing_has_the_digest_of_a_chunk_that_the_table_does_not_have():
    assert digest(Identities()) == Digest()


@given(st.integers(0, 5 * CHUNK_OFFSETS), st.integers(0, 3 * CHUNK_OFFSETS))
def test_chunks_cover_a_range_once_and_keep_within_their_number(begin, length):
    at = begin
    for number, first, last in chunks(begin, begin + length):
        assert first == at < last
        assert number == first // CHUNK_OFFSETS == (last - 1) // CHUNK_OFFSETS
        at = last
    assert at == begin + length


def test_ranges_are_short_however_many_there_are():
    assert ranges(np.array([], np.int64)) == "none"
    assert ranges(np.array([9, 5, 6, 7, 7])) == "5..7, 9"
    assert ranges(np.arange(0, 20, 2)) == "0, 2, 4, 6, 8 and 5 more ranges"
