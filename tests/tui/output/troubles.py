"""Snapshot in which balancing, groups, plans and alerts are in every state that is not healthy."""

from __future__ import annotations

from dataclasses import replace

from replicator.orders.order_records import Hold
from tests.tui.balance_records import FIELDS
from tests.tui.console.values.balancing import balance
from tests.tui.console.values.feeds import object_feed
from tests.tui.console.values.findings import alerts, events
from tests.tui.console.values.groups import groups
from tests.tui.console.values.plans import plan_summary
from tests.tui.console.values.routes import parked, partition, route, topic, unknown
from tests.tui.console.values.times import NOW_MS
from tests.tui.output import replication
from tests.tui.output.odd import ODD
from tests.tui.pages.finding_snapshots import RESOLVED, SILENCED, busy_feed
from tui.facts.balancing import BalanceAlert
from tui.facts.order_words import ending_words
from tui.facts.plan_summary import PlanCheck
from tui.facts.snapshot import Snapshot

WEST = balance("west")
(STREAM,) = WEST.streams
CALM = replace(STREAM, alerts=(), stream="calm")
STREAMS = (
    STREAM,
    CALM,
    replace(CALM, stream="alert", alerts=(BalanceAlert(name="lagging", text=ODD),)),
    replace(CALM, stream="blind", degraded=ODD, heaviest=None),
    replace(CALM, stream="paused", is_paused=True),
    replace(CALM, stream="held", held=ODD, moves=(), moves_count=0),
    replace(CALM, stream="counted", generation=0, driver_generation=0, carriers=None),
    replace(CALM, stream="unknown", generation=None, at_ms=None, carriers=None, bound=None),
    replace(CALM, stream="old", is_current=False, driver_generation=11),
)
HELD = Hold(**FIELDS, stream="held")
BILLING, FRAUD = groups()
PLAN = plan_summary()
BLOCKED = (*PLAN.checks, PlanCheck(name="basis", result="block", text=ODD))


def troubles() -> Snapshot:
    """Returns a snapshot with a region, stream, group, plan and alert for each bad state."""
    found = replication.status()
    order = WEST.orders[0] if WEST.orders else None
    assert order is not None
    hold = replace(order, kind="hold", stream="held", what="hold", undo=ending_words(HELD))
    late = replace(partition("orders", 17, lag=9109), lag_per_second=12.0, drain_seconds=None)
    far = replace(partition("orders", 18, lag=900_000), drain_seconds=500_000.0)
    slow = topic("orders", (late, far, parked("orders", 41), unknown("orders", 2)))
    return replace(
        found,
        routes=(route("west", "east", (slow,)), replace(found.routes[2], problems=())),
        balance=(
            replace(WEST, streams=STREAMS, orders=(*(WEST.orders or ()), hold)),
            replace(WEST, region="east", is_acting=False, problems=(ODD,)),
            replace(WEST, region="north", is_acting=True, lease_who=None, streams=()),
            replace(WEST, region="south", is_acting=None, orders=None, driver_partitions=None),
        ),
        groups=(
            replace(BILLING, plan_id=PLAN.plan_id),
            FRAUD,
            replace(FRAUD, group="out", members=("west",), is_active_twice=False),
            replace(BILLING, group="silent", unknown=("east",), lag={}),
            replace(BILLING, group="unread", primary=None, has_record=None),
            replace(BILLING, group="free", primary=None, copies_age_seconds=90.0),
            replace(BILLING, group=ODD, members=(), partitions=None, who=ODD, why=ODD),
        ),
        group_detail=None,
        plans=(
            PLAN,
            replace(PLAN, plan_id="blocked", is_blocked=True, checks=BLOCKED),
            replace(PLAN, plan_id="part", held_back=("fraud",), checks=BLOCKED),
            replace(PLAN, plan_id="old", valid_until_ms=NOW_MS - 90_000, age_ms=None),
            replace(PLAN, plan_id="switch", verb="switchover", positions=(), positions_count=9000),
            replace(PLAN, plan_id="broken", broken=ODD),
        ),
        audits=None,
        alerts=(
            *alerts(),
            SILENCED,
            RESOLVED,
            replace(RESOLVED, key="group/fraud", kind="group", extent=3, text=ODD),
        ),
        feeds=(replace(busy_feed(), orders=None, findings=()), object_feed()),
        events=(replace(events()[0], level="error", text=ODD), *events()),
    )
