"""A block is inserted only as far as the table surely lacks its rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.store.recognition import (
    Identities,
    ReplicaSight,
    Sight,
    Verdict,
    decide,
)

ROWS = [(10, 0), (10, 1), (12, 0), (1 << 62, 4_000_000_000)]


def identities(rows) -> Identities:
    offset, row = zip(*rows, strict=True) if rows else ((), ())
    return Identities(np.array(offset, np.int64), np.array(row, np.int64))


BLOCK = identities(ROWS)
ALL, SOME, NONE = identities(ROWS), identities(ROWS[1:3]), identities([])


def sight(*rows, is_complete=True, **more) -> Sight:
    return Sight(tuple(ReplicaSight(each, is_complete) for each in rows), **more)


def decided(seen, *, quorum=2, is_deduplicated=False):
    return decide(BLOCK, seen, quorum=quorum, is_deduplicated=is_deduplicated)


def test_all_rows_on_the_quorum_are_done_whatever_else_is_unknown():
    seen = sight(ALL, ALL, NONE, is_complete=False, is_running=True, silent=2)
    assert decided(seen).verdict is Verdict.DONE


def test_all_rows_on_fewer_replicas_than_the_quorum_are_waited_for():
    assert decided(sight(ALL, NONE, NONE)).verdict is Verdict.LOOK_AGAIN
    assert decided(sight(ALL, NONE, NONE), quorum=0).verdict is Verdict.DONE
    assert decided(sight(ALL, NONE, NONE), quorum=1).verdict is Verdict.DONE


def test_the_rows_of_several_parts_may_be_on_several_replicas():
    rest = identities([ROWS[0], ROWS[3]])
    assert decided(sight(SOME, rest), quorum=0).verdict is Verdict.DONE


def test_an_insert_that_runs_is_waited_for():
    assert decided(sight(NONE, NONE, is_running=True)).verdict is Verdict.LOOK_AGAIN


def test_a_table_without_the_rows_gets_the_block():
    assert decided(sight(NONE, NONE)).verdict is Verdict.INSERT


def test_a_table_with_some_rows_gets_the_others():
    decision = decided(sight(SOME, SOME))
    assert decision.verdict is Verdict.INSERT_REST
    assert decision.lacking.tolist() == [True, False, False, True]


@pytest.mark.parametrize("quorum", [0, 2])
def test_rows_that_are_not_committed_do_not_count(quorum):
    replica = ReplicaSight(SOME, uncommitted=ALL)
    assert decided(Sight((replica, replica)), quorum=quorum).verdict is Verdict.INSERT_REST
    replica = ReplicaSight(ALL, uncommitted=ALL)
    assert decided(Sight((replica, replica)), quorum=quorum).verdict is Verdict.DONE


def test_rows_of_several_parts_are_joined():
    joined = Identities.joined([SOME, identities([ROWS[0], ROWS[3]])])
    assert len(joined) == 4 and BLOCK.among(joined).all()
    assert len(Identities.joined([])) == 0


@pytest.mark.parametrize("unknown", [{"silent": 1}, {"is_complete": False}, {"uncommitted": 1}])
@pytest.mark.parametrize("rows", [NONE, SOME])
def test_what_may_be_stored_unseen_is_sent_again_only_as_the_very_same_block(unknown, rows):
    seen = sight(rows, rows, **unknown)
    assert decided(seen).verdict is Verdict.LOOK_AGAIN
    assert decided(seen).why
    assert decided(seen, is_deduplicated=True).verdict is Verdict.INSERT


def test_one_replica_that_has_every_part_is_enough():
    seen = Sight((ReplicaSight(NONE, is_complete=False), ReplicaSight(NONE)))
    assert decided(seen).verdict is Verdict.INSERT


row_lists = st.lists(st.tuples(st.integers(0, 1 << 62), st.integers(0, (1 << 32) - 1)), max_size=20)


@given(row_lists, row_lists, st.randoms(use_true_random=False))
def test_rows_are_found_among_others_by_both_numbers(rows, others, random):
    others = others + random.sample(rows, len(rows) // 2)
    found = identities(rows).among(identities(others))
    assert found.tolist() == [row in others for row in rows]
