"""Reports of a keeper: what claims add, and what a look at the servers shows."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from aggregator.upsert.claims import TickRow, What
from aggregator.upsert.keeper_report import after_claim, stopped_lanes, with_look
from aggregator.upsert.key_coordinator import TickResult
from aggregator.upsert.mark import TableMark
from aggregator.upsert.row_ends import ends_table
from aggregator.upsert.settle_schedule import ServerLook
from aggregator.upsert.tick import Lane, LaneRange, Stop, Tick
from aggregator.upsert.upsert_metrics import ServerFigures, UpsertReport
from aggregator.upsert.version import EndKind, RowEnd
from replicator.kafka.client.loss import Loss, LossKind

NONE = UpsertReport(feed="f", table="t")
TICK = Tick(1, 3, 9_000, (Lane("c", "t", UUID(int=1), 0),), (LaneRange(5, 9),))
CLAIM = TickRow(1, 3, What.CLAIM, 9_000, (9,), rows=4, events=2, expired=1, letters=1)
MARK = TableMark(3, {"one": 3}, {"two": "does not answer", "three": "has tick 1"})
SETTLED = TickRow(1, 2, What.SETTLED, 8_000)


def result(*kinds: EndKind) -> TickResult:
    ends = ends_table(RowEnd(at, 0, at, kind, 3, 99, bytes(16)) for at, kind in enumerate(kinds))
    return TickResult(3, ends, (), 4, 1, 0.1)


def test_claims_add_up_and_the_newest_tick_is_shown() -> None:
    once = after_claim(NONE, TICK, CLAIM, result(EndKind.SUPERSEDED, EndKind.LATE), 0.5)
    twice = after_claim(once, TICK, CLAIM, result(EndKind.SUPERSEDED), 0.7)
    assert (twice.ticks, twice.rows, twice.expired, twice.letters) == (2, 8, 2, 2)
    assert twice.events == {EndKind.SUPERSEDED: 2, EndKind.LATE: 1, EndKind.DELETED: 0}
    assert (twice.tick, twice.tick_ms, twice.tick_offsets, twice.tick_seconds) == (3, 9_000, 4, 0.7)
    assert twice.lanes == 1
    assert after_claim(NONE, TICK, CLAIM, result(), 0.5).events[EndKind.DELETED] == 0


def test_a_look_shows_each_server_with_the_tick_that_it_has() -> None:
    look = ServerLook(MARK, CLAIM, SETTLED, {"one": 9_000, "three": 7_000}, 0.5)
    found = with_look(NONE, look, {})
    assert (found.settled, found.settled_ms, found.dead_rows) == (2, 8_000, 0.5)
    assert found.servers == {
        "one": ServerFigures(9_000),
        "three": ServerFigures(7_000, is_left_out=True),
        "two": ServerFigures(None, is_left_out=True),
    }
    before = with_look(NONE, ServerLook(MARK, CLAIM, None), {})
    assert (before.settled, before.settled_ms, before.dead_rows) == (None, None, None)


def test_unsettled_events_are_known_once_all_their_ticks_were_claimed_here() -> None:
    report = after_claim(NONE, TICK, CLAIM, result(), 0.5)
    events = {1: 5, 2: 6, 3: 7}
    assert with_look(report, ServerLook(MARK, CLAIM, SETTLED), events).unsettled_events == 7
    assert events == {1: 5, 2: 6, 3: 7}, "the keeper's own"
    assert with_look(report, ServerLook(MARK, CLAIM, None), {3: 7}).unsettled_events is None


def test_a_lane_that_was_stopped_before_stays_so_while_its_tick_is_done_again() -> None:
    lanes = tuple(Lane("c", "t", UUID(int=1), partition) for partition in range(4))
    stop, gap = (Loss(LossKind.RETENTION_PASSED, begin, 9) for begin in (4, 5))
    tick = replace(
        TICK,
        lanes=lanes,
        ranges=TICK.ranges * 4,
        stops=(Stop(0, stop), Stop(1, stop, is_accepted=True)),
        gaps=(Stop(2, gap), Stop(3, gap, is_accepted=True)),
    )
    told = stopped_lanes(tick, "sluice upsert accept-loss")
    assert told.keys() == {lanes[0], lanes[2]}
    # A cut tells the same of it, so that it is not told anew.
    assert told[lanes[0]] == str(stop)
    assert told[lanes[2]].endswith(
        "within tick 3, which was cut: the table stands still until `sluice upsert accept-loss`"
    )
