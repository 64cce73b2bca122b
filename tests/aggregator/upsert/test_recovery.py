"""Tests of the recovery's table: what ledger, store and checkpoint say, and what is done."""

from __future__ import annotations

from itertools import product

import pytest

from aggregator.upsert.recovery import Found, StateAction, TickAction, TickName, recovery

CUT, REDO, STOP = TickAction.CUT, TickAction.REDO, TickAction.STOP
KEEP, FOLD_AGAIN, BOOTSTRAP = StateAction.KEEP, StateAction.FOLD_AGAIN, StateAction.BOOTSTRAP


def named(number, generation=1):
    return None if number is None else TickName(generation, number)


def decided(ledger, claimed, checkpoint, **more):
    """Returns the decision for numbers of ticks."""
    found = Found(
        ledger=named(ledger), claimed=named(claimed), checkpoint=named(checkpoint), **more
    )
    made = recovery(found)
    return made.action, made.tick, made.state


@pytest.mark.parametrize(
    ("k", "m", "c", "decision"),
    [
        pytest.param(7, 7, 7, (CUT, 8, KEEP), id="idle"),
        pytest.param(8, 7, 7, (REDO, 8, KEEP), id="died before the claim"),
        pytest.param(7, 7, 6, (CUT, 8, FOLD_AGAIN), id="claimed, Spark did not commit"),
        pytest.param(8, 7, 6, (REDO, 8, BOOTSTRAP), id="cut before Spark committed the last"),
        pytest.param(7, 7, 5, (CUT, 8, BOOTSTRAP), id="old checkpoint"),
        pytest.param(8, 7, 5, (REDO, 8, BOOTSTRAP), id="old checkpoint, tick not claimed"),
        pytest.param(7, 7, 0, (CUT, 8, BOOTSTRAP), id="checkpoint of an empty table"),
        pytest.param(7, 7, None, (CUT, 8, BOOTSTRAP), id="no checkpoint"),
        pytest.param(8, 7, None, (REDO, 8, BOOTSTRAP), id="no checkpoint, tick not claimed"),
        pytest.param(7, 7, 8, (STOP, 7, None), id="the store went back"),
        pytest.param(8, 7, 8, (STOP, 7, None), id="the claim is lost"),
        pytest.param(9, 7, 7, (STOP, 7, None), id="ledger ahead of the store"),
        pytest.param(6, 7, 6, (STOP, 7, None), id="ledger behind the store"),
        pytest.param(None, 7, 7, (STOP, 7, None), id="claims without a ledger"),
        pytest.param(None, 0, None, (CUT, 1, BOOTSTRAP), id="new table"),
        pytest.param(None, 0, 0, (CUT, 1, KEEP), id="new table, state begun"),
        pytest.param(1, 0, 0, (REDO, 1, KEEP), id="died in the first tick"),
        pytest.param(1, 1, 0, (CUT, 2, FOLD_AGAIN), id="first tick claimed"),
        pytest.param(1, 0, None, (REDO, 1, BOOTSTRAP), id="first tick, no checkpoint"),
        pytest.param(None, 0, 3, (STOP, 0, None), id="state of a table that is gone"),
    ],
)
def test_each_row_of_the_table(k, m, c, decision):
    assert decided(k, m, c) == decision


def test_a_checkpoint_of_another_generation_is_not_used():
    for number in (6, 7, 9):
        found = Found(ledger=named(7), claimed=named(7), checkpoint=TickName(2, number))
        assert recovery(found).state is BOOTSTRAP


def test_a_ledger_of_another_generation_than_the_store_stops():
    found = Found(ledger=TickName(1, 7), claimed=TickName(2, 7))
    assert recovery(found).action is STOP
    assert "generation 1" in recovery(found).reason and "of 2" in recovery(found).reason


@pytest.mark.parametrize(("ledger", "claimed"), [(7, 7), (8, 7), (None, 0)])
def test_rows_of_a_tick_that_the_ledger_does_not_know_stop(ledger, claimed):
    newest = (ledger or 0) + 1
    assert decided(ledger, claimed, None, stored=newest) == (STOP, claimed, None)
    assert decided(ledger, claimed, None, stored=ledger or 0)[0] is not STOP


@pytest.mark.parametrize(
    ("k", "m", "c", "words"),
    [
        (9, 6, 6, "ticks 7 to 8 are lost"),
        (5, 7, 7, "claims up to 7, and the ledger ends with tick 5"),
        (7, 7, 9, "claims of ticks 8 to 9 are lost"),
        (None, 7, 7, "ticks up to 7 and the ledger has none"),
    ],
)
def test_a_stop_names_the_ticks(k, m, c, words):
    found = Found(ledger=named(k), claimed=named(m), checkpoint=named(c))
    assert words in recovery(found).reason


def test_nothing_is_ever_cut_while_ledger_and_store_differ():
    for k, m, c in product((None, *range(5)), range(5), (None, *range(5))):
        action, tick, state = decided(k, m, c)
        if action is CUT:
            assert (k or 0) == m and tick == m + 1
        elif action is REDO:
            assert k == m + 1 == tick
        assert (state is None) == (action is STOP)
        if state is KEEP:
            assert c == m
        elif state is FOLD_AGAIN:
            assert c == m - 1 and k == m
