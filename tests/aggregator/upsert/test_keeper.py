"""Decisions of the keeper of an upsert table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from uuid import UUID

import pytest

from aggregator.upsert.checkpoint import Checkpoints
from aggregator.upsert.claims import TickRow, What
from aggregator.upsert.facts import LaneNote
from aggregator.upsert.keeper import RotationDue, TableKeeper, claim_of, first_of, with_acceptance
from aggregator.upsert.mark import TableMark
from aggregator.upsert.settle_schedule import ServerLook
from aggregator.upsert.tick import Lane, LaneRange, Stop, Tick
from replicator.kafka.client.cluster import Fenced
from replicator.kafka.client.loss import Loss, LossKind

LANE = Lane("west aggregate", "orders", UUID(int=1), 0)
TICK = Tick(1, 7, 5_000, (LANE,), (LaneRange(10, 15),))
NOTES = (LaneNote(0, rows=3, expired=1, letters=((12, "no document"),)),)


def test_a_claim_has_the_vector_of_its_tick_and_the_sums_of_its_lanes():
    claim = claim_of(TICK, NOTES, 2)
    assert claim == TickRow(1, 7, What.CLAIM, 5_000, (15,), rows=3, events=2, expired=1, letters=1)


def test_ends_are_counted_until_their_tick_is_settled():
    keeper = TableKeeper(
        SimpleNamespace(feed="f", table=SimpleNamespace(name="t"), settling=SimpleNamespace())
    )
    settled = None
    for tick in range(1, 30):
        if tick % 10 == 0:
            settled = TickRow(1, tick - 3, What.SETTLED, 0)
        keeper.parts.settling.look = tick > 1 and ServerLook(TableMark(tick, {}, {}), None, settled)
        before = keeper.events_by_tick
        keeper.take_in(TickRow(1, tick, What.CLAIM, 0, events=tick))
        assert keeper.events_by_tick is not before, "another thread may read it"
        first = settled.tick + 1 if settled else 1
        assert keeper.events_by_tick == {at: at for at in range(first, tick + 1)}


@dataclass
class PlayedTable:
    """Parts of a keeper whose runs all end before their query starts.

    Args:
        newest: of each run: its newest tick, which is claimed. Behind them the keeper is fenced.
    """

    newest: list[int]
    asked: list[int] = field(default_factory=list)

    async def open(self):
        if not self.newest:
            raise Fenced("another keeper")

    async def read_as_holder(self, holder):
        return replace(TICK, number=self.newest[0])

    def newest_claim(self, what):
        return TickRow(1, self.newest[0], what, 5_000)

    def newest_stored(self):
        self.asked.append(self.newest[0])
        return self.newest[0]

    def write_reader(self, facts):
        self.newest.pop(0)
        raise RotationDue("the run is over")


async def test_rows_behind_the_ledger_are_looked_for_once_for_a_newest_tick(tmp_path):
    @dataclass
    class Facts:
        plan: object = None

    played = PlayedTable([7, 7, 7, 8, 8])
    parts = SimpleNamespace(
        feed="f",
        table=SimpleNamespace(name="t", state_partitions=4),
        home=played,
        tick_store=played,
        ticks_of=lambda _: SimpleNamespace(
            newest=played.newest_claim, newest_stored=played.newest_stored
        ),
        checkpoints=Checkpoints(tmp_path),
        orders=SimpleNamespace(due=lambda *_: None),
        order_log=lambda: None,
        planned=lambda *_: None,
        facts=Facts(),
        posting=played,
    )
    keeper = TableKeeper(parts)
    for _ in range(2):
        with pytest.raises(Fenced):
            await keeper.keep()
        played.newest.append(8)
    assert played.asked == [7, 8, 8], "another keeper may have cut ticks meanwhile"


def test_only_the_gap_that_was_shown_is_accepted():
    first, later = (Loss(LossKind.RETENTION_PASSED, 10, end) for end in (12, 14))
    gaps = [Stop(0, first), Stop(1, first)]
    assert with_acceptance(gaps, {0: first}) == [Stop(0, first, True), Stop(1, first)]
    assert with_acceptance(gaps, {0: later}) == gaps


def test_a_fence_comes_before_all_other_errors():
    fenced = Fenced("another keeper")
    group = ExceptionGroup("", [OSError("x"), ExceptionGroup("", [fenced])])
    assert first_of(group) is fenced
    assert isinstance(first_of(ExceptionGroup("", [OSError("x"), ValueError()])), OSError)
