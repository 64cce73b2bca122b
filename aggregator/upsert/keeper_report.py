"""Keeper report: figures of an upsert table after a claim, and after a look at the servers; and the
lanes that take nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow.compute as pc

from aggregator.upsert.claims import TickRow
from aggregator.upsert.key_coordinator import TickResult
from aggregator.upsert.settle_schedule import ServerLook
from aggregator.upsert.tick import Lane, Tick
from aggregator.upsert.upsert_metrics import ServerFigures, UpsertReport
from aggregator.upsert.version import EndKind


def after_claim(
    report: UpsertReport, tick: Tick, claim: TickRow, result: TickResult, tick_seconds: float
) -> UpsertReport:
    """Returns a report after another tick was claimed."""
    counts = pc.value_counts(result.ends["kind"]).to_pylist()
    kinds = {str(each["values"]): int(each["counts"]) for each in counts}
    return replace(
        report,
        tick=claim.tick,
        tick_ms=claim.time_ms,
        tick_seconds=tick_seconds,
        tick_offsets=tick.offsets,
        lanes=len(tick.lanes),
        ticks=report.ticks + 1,
        rows=report.rows + claim.rows,
        expired=report.expired + claim.expired,
        letters=report.letters + claim.letters,
        events={kind: report.events.get(kind, 0) + kinds.get(str(kind), 0) for kind in EndKind},
    )


def stopped_lanes(tick: Tick, command: str) -> dict[Lane, str]:
    """Returns the lanes that take nothing until a loss is accepted, with the reasons, as of a tick
    that is to be done again. The reason of one that was stopped before is the same as before.

    Args:
        command: accepts losses.
    """
    where = f"within tick {tick.number}, which was cut: the table stands still until `{command}`"
    stops = {each.lane: str(each.loss) for each in tick.stops if not each.is_accepted}
    gaps = {each.lane: f"{each.loss}, {where}" for each in tick.gaps if not each.is_accepted}
    return {tick.lanes[lane]: why for lane, why in (stops | gaps).items()}


def unsettled_events(events_by_tick: Mapping[int, int], look: ServerLook | None) -> dict[int, int]:
    """Returns the numbers of ends of those ticks that are not settled, as the servers showed it."""
    settled = look.settled.tick if look and look.settled else 0
    return {tick: events for tick, events in events_by_tick.items() if tick > settled}


def with_look(
    report: UpsertReport, look: ServerLook, events_by_tick: Mapping[int, int]
) -> UpsertReport:
    """Returns a report with what the servers showed.

    Args:
        events_by_tick: numbers of ends of ticks.
    """
    settled = look.settled.tick if look.settled else 0
    unsettled = unsettled_events(events_by_tick, look)
    is_known = report.tick is not None and settled + len(unsettled) >= report.tick
    return replace(
        report,
        settled=settled or None,
        settled_ms=look.settled.time_ms if look.settled else None,
        horizon=look.horizon.tick if look.horizon else None,
        horizon_ms=look.horizon.time_ms if look.horizon else None,
        unsettled_events=sum(unsettled.values()) if is_known else None,
        dead_rows=look.dead_rows,
        servers={
            address: ServerFigures(look.mark_ms.get(address), address in look.mark.left_out)
            for address in sorted({*look.mark_ms, *look.mark.left_out})
        },
    )
