"""Decisions of the keeper of an upsert table."""

from __future__ import annotations

from uuid import UUID

import pyarrow as pa
import pytest

from aggregator.upsert.checkpoint import Checkpoint, Checkpoints, Identity
from aggregator.upsert.claims import TickRow, What
from aggregator.upsert.facts import LaneNote
from aggregator.upsert.keeper import (
    after_claim,
    checkpoint_for,
    claim_of,
    first_of,
    held_by,
    with_look,
)
from aggregator.upsert.key_coordinator import TickResult
from aggregator.upsert.mark import TableMark
from aggregator.upsert.recovery import Recovery, StateAction, TickAction
from aggregator.upsert.settle_schedule import ServerLook
from aggregator.upsert.tick import Lane, LaneRange, Tick
from aggregator.upsert.upsert_metrics import UpsertReport
from aggregator.upsert.version import EndKind
from replicator.kafka.client.cluster import Fenced

LANE = Lane("west aggregate", "orders", UUID(int=1), 0)
TICK = Tick(1, 7, 5_000, (LANE,), (LaneRange(10, 15),))
NOTES = (LaneNote(0, rows=3, expired=1, letters=((12, "no document"),)),)
IDENTITY = Identity("flights", "orders", 1, 4)


def result(*kinds: EndKind) -> TickResult:
    return TickResult(7, pa.table({"kind": [str(kind) for kind in kinds]}), NOTES, 3, 0.1)


def decided(state: StateAction, action: TickAction = TickAction.CUT) -> Recovery:
    return Recovery(action, 7, state, "")


def test_a_claim_has_the_vector_of_its_tick_and_the_sums_of_its_lanes():
    claim = claim_of(TICK, NOTES, 2)
    assert claim == TickRow(1, 7, What.CLAIM, 5_000, (15,), rows=3, events=2, expired=1, letters=1)


def test_counters_grow_with_each_claim_and_events_by_kind():
    report = UpsertReport(feed="flights", table="orders", ticks=1, rows=10)
    ends = result(EndKind.LATE, EndKind.SUPERSEDED, EndKind.SUPERSEDED)
    found = after_claim(report, TICK, claim_of(TICK, NOTES, 3), ends, 0.5)
    assert (found.tick, found.ticks, found.rows, found.letters) == (7, 2, 13, 1)
    assert found.tick_offsets == 5 and found.tick_seconds == 0.5
    assert found.events == {EndKind.LATE: 1, EndKind.SUPERSEDED: 2, EndKind.DELETED: 0}


@pytest.mark.parametrize(("known", "unsettled"), [({6: 4, 7: 2}, 6), ({7: 2}, None)])
def test_unsettled_events_are_known_once_all_ticks_behind_the_settle_point_are(known, unsettled):
    claim = claim_of(TICK, NOTES, 2)
    point = TickRow(1, 5, What.SETTLED, 3_000)
    look = ServerLook(TableMark(7, {"a": 7}, {"b": "does not answer"}), claim, point)
    events = {5: 9, **known}
    found = with_look(UpsertReport(feed="f", table="t", tick=7), look, events)
    assert found.unsettled_events == unsettled
    assert (found.settled, found.settled_ms) == (5, 3_000)
    assert 5 not in events
    assert found.servers["a"].mark_ms == 5_000
    assert found.servers["b"].is_left_out and found.servers["b"].mark_ms is None


def test_a_state_that_fits_is_continued_and_any_other_begins_in_a_folder_of_its_own(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    first = checkpoint_for(checkpoints, IDENTITY, decided(StateAction.BOOTSTRAP))
    assert first.is_new and first.checkpoint.identity() == IDENTITY
    kept = checkpoint_for(checkpoints, IDENTITY, decided(StateAction.KEEP))
    assert not kept.is_new and kept.checkpoint == first.checkpoint
    again = checkpoint_for(checkpoints, IDENTITY, decided(StateAction.FOLD_AGAIN))
    assert not again.is_new
    second = checkpoint_for(checkpoints, IDENTITY, decided(StateAction.BOOTSTRAP))
    assert second.is_new and not first.checkpoint.folder.exists()


def test_a_tick_that_the_ledger_has_no_more_is_not_folded_again(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoint_for(checkpoints, IDENTITY, decided(StateAction.BOOTSTRAP))
    found = checkpoint_for(checkpoints, IDENTITY, decided(StateAction.FOLD_AGAIN, TickAction.REDO))
    assert found.is_new


def test_a_checkpoint_of_another_table_holds_nothing(tmp_path):
    checkpoint = Checkpoint(tmp_path / "1")
    checkpoint.begin(IDENTITY)
    assert held_by(checkpoint, Identity("flights", "others", 1, 4)) is None
    assert held_by(checkpoint, IDENTITY) is None, "no batch is committed yet"
    assert held_by(None, IDENTITY) is None


def test_a_fence_comes_before_all_other_errors():
    fenced = Fenced("another keeper")
    group = ExceptionGroup("", [OSError("x"), ExceptionGroup("", [fenced])])
    assert first_of(group) is fenced
    assert isinstance(first_of(ExceptionGroup("", [OSError("x"), ValueError()])), OSError)
