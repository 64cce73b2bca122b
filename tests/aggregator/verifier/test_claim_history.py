"""Claims against each other and against the tick."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aggregator.verifier.claim_history import Claim, compared_claims, unbroken_from
from tests.aggregator.verifier.ticks import tick

TICK = tick(4, (30, 40))


def claim(number, **fields):
    return Claim(1, number, number * 1000, (number * 10,), 10, 2, 0, 0)._replace(**fields)


CLAIMS = [claim(each) for each in (2, 3, 4)]


def difference(found, of=TICK, newest=4, *, has_memory=True):
    it = compared_claims(found, 2, of, newest, has_memory=has_memory)
    names = ("missing", "surplus", "doubled", "changed", "maybe_repeated")
    return {name: getattr(it, name) for name in names if getattr(it, name)}


def test_claims_of_all_ticks_are_right_also_while_the_last_is_under_way():
    assert difference(CLAIMS) == {}
    assert difference(CLAIMS[:2]) == {}, "the tick was committed, and is not claimed yet"
    assert difference([*CLAIMS, claim(5)], newest=5) == {}, "claimed while the check ran"
    assert difference([claim(2), claim(3), claim(9, generation=0)]) == {}, "from before a rollback"


@pytest.mark.parametrize(
    ("found", "what"),
    [
        ([claim(2), claim(4)], {"missing": [3]}),
        ([claim(2)], {"missing": [3]}),
        ([], {"missing": [2, 3]}),
        ([*CLAIMS, claim(3)], {"doubled": [3]}),
        ([*CLAIMS, claim(3, rows=11)], {"changed": [3]}),
        ([*CLAIMS, claim(5)], {"surplus": [5]}),
        ([*CLAIMS, claim(3, generation=2)], {"surplus": [3]}),
        ([claim(2), claim(3), claim(4, ends=(41,))], {"changed": [4]}),
        ([claim(2), claim(3, time_ms=1), claim(4)], {"changed": [3]}),
        ([claim(2), claim(3, ends=()), claim(4)], {"changed": [3]}),
    ],
)
def test_claims_that_are_missing_doubled_foreign_or_changed_are_named(found, what):
    assert difference(found) == what


def test_a_table_without_a_memory_of_blocks_may_have_a_claim_twice():
    assert difference([*CLAIMS, claim(3)], has_memory=False) == {"maybe_repeated": [3]}


def test_a_table_without_claims_has_its_first_tick_under_way():
    it = compared_claims([], 1, replace(TICK, number=1), 1, has_memory=True)
    assert not (it.missing or it.texts)


def test_claims_before_the_horizon_may_be_gone_and_none_behind_it():
    found = [claim(2), claim(4)]
    assert compared_claims(found, 2, TICK, 4, has_memory=True, horizon=4).missing == []
    assert compared_claims(found, 2, TICK, 4, has_memory=True, horizon=3).missing == [3]


def test_ticks_are_compared_from_the_first_that_has_all_claims_behind_it_and_one_before():
    assert unbroken_from([1, 5, 6, 7, 8], first=1, horizon=7) == 6
    assert unbroken_from([4, 5, 6, 7, 8], first=6, horizon=7) == 6
    assert unbroken_from([1, 2, 3, 4], first=1, horizon=3) == 1
    assert unbroken_from([8, 9], first=9, horizon=7) == 9, "a claim is lacking, and speaks"
    assert unbroken_from([1, 2, 4], first=2, horizon=0) == 2
