"""Snapshots for tests of the console: fixed times, no server. Their values are in `values`."""

from __future__ import annotations

from dataclasses import replace

from replicator.notices.condition import Condition
from tests.tui.console.values.balancing import balance
from tests.tui.console.values.feeds import feed
from tests.tui.console.values.findings import alerts, audits, events
from tests.tui.console.values.groups import group_detail, groups
from tests.tui.console.values.plans import plan_summary
from tests.tui.console.values.regions import daemons, parts, region
from tests.tui.console.values.routes import (
    PARKED,
    ROUTES,
    parked,
    partition,
    route,
    topic,
    topics,
    unknown,
)
from tests.tui.console.values.times import MINUTE_MS, NOW, NOW_MS, REFUSED
from tui.facts.health import Health
from tui.facts.region_view import DaemonView, RegionView
from tui.facts.snapshot import Snapshot

__all__ = [
    "ALL",
    "MINUTE_MS",
    "NOW",
    "NOW_MS",
    "PARKED",
    "REFUSED",
    "ROUTES",
    "alerts",
    "audits",
    "balance",
    "daemons",
    "empty",
    "events",
    "feed",
    "group_detail",
    "groups",
    "healthy",
    "lagging",
    "many",
    "parked",
    "partition",
    "parts",
    "plan_summary",
    "region",
    "region_gone",
    "route",
    "stale",
    "topic",
    "topics",
    "unknown",
]


def healthy() -> Snapshot:
    """Returns a snapshot in which nothing is wrong."""
    return Snapshot(
        taken_at=NOW,
        parts=parts(),
        regions=(region("east"), region("west")),
        routes=tuple(route(source, target, topics()) for source, target in ROUTES),
        groups=groups()[:1],
        group_detail=group_detail(),
        balance=(replace(balance("west"), orders=()), replace(balance("east"), orders=())),
        plans=(),
        audits=audits(),
        alerts=(),
        feeds=(replace(feed(), partitions=feed().partitions[:1]),),
        events=events()[1:],
    )


def lagging() -> Snapshot:
    """Returns a snapshot with partitions that are behind, one parked, and a saved plan."""
    late = (
        *(partition("orders", number) for number in range(17)),
        partition("orders", 17, lag=9109),
        partition("orders", 18, lag=21_200),
        parked("orders", 41),
    )
    found = healthy()
    slow = route("east", "west", (topic("orders", late), *topics()[::2]))
    return replace(
        found,
        routes=(found.routes[0], slow, *found.routes[2:]),
        groups=groups(),
        balance=(balance("west"), balance("east")),
        plans=(plan_summary(),),
        alerts=alerts()[1:],
        feeds=(feed(),),
        events=events(),
    )


def region_gone() -> Snapshot:
    """Returns a snapshot in which the region west stopped answering 81 seconds ago."""
    found = lagging()
    gone = tuple(
        replace(
            each,
            asked_at=NOW - 82.0,
            problem=f"{each.server}: {REFUSED}",
            problem_since=NOW - 81.0,
        )
        if each.server.startswith("west")
        else each
        for each in found.parts
    )
    west = RegionView(
        region="west",
        daemons=tuple(DaemonView(role=each.role, state="unknown") for each in daemons()),
        regional="silent",
        aggregate="silent",
        redis="silent",
        problems=tuple(each.problem for each in gone if each.problem),
    )
    lost = route("west", "east", (topic("orders", tuple(unknown("orders", n) for n in range(4))),))
    return replace(
        found,
        parts=gone,
        regions=(region("east"), west),
        routes=(
            replace(lost, state=Health.WAITS, problems=west.problems[:1]),
            *(
                replace(each, topics=None, state=Health.UNKNOWN, why=west.problems[0])
                if "west" in each.route
                else each
                for each in found.routes[1:]
            ),
        ),
        conditions=(
            Condition(
                kind="source-silent",
                who="replicate east",
                text=f"west regional does not answer: {REFUSED}",
                since_ms=NOW_MS - 81_000,
                route="west>east",
                cluster="west regional",
            ),
        ),
        alerts=alerts(),
        plans=None,
    )


def stale() -> Snapshot:
    """Returns the lagging snapshot as it looks five minutes later without an answer."""
    return replace(lagging(), parts=parts(age_seconds=300.0))


def empty() -> Snapshot:
    """Returns the snapshot before any server has answered."""
    never = tuple(replace(each, asked_at=None) for each in parts())
    return Snapshot(taken_at=NOW, parts=never)


def many(partitions: int = 10_000, of_topic: int = 2_500, group_count: int = 500) -> Snapshot:
    """Returns a snapshot of 4 routes with `partitions` in all, some of them behind or parked."""
    per_route = partitions // len(ROUTES)
    found = []
    for source, target in ROUTES:
        names = [f"topic-{number:03d}" for number in range(per_route // of_topic)]
        found.append(
            route(
                source,
                target,
                tuple(
                    topic(
                        name,
                        tuple(
                            parked(name, n)
                            if n % 997 == 41
                            else partition(name, n, lag=9000 + n if n % 500 == 17 else n % 300)
                            for n in range(of_topic)
                        ),
                    )
                    for name in names
                ),
            )
        )
    some = groups()[0]
    return replace(
        lagging(),
        routes=tuple(found),
        groups=tuple(
            replace(some, group=f"group-{n:03d}", partitions=64, lag={"west": n, "east": n * 2})
            for n in range(group_count)
        ),
    )


ALL = {
    "healthy": healthy,
    "lagging": lagging,
    "region_gone": region_gone,
    "stale": stale,
    "empty": empty,
    "many": many,
}
