"""Questions about the past traffic of sources, as the balancer left it in Redis."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from balancer.demand.window_columns import WindowColumns
from replicator.config.topology import Appliance, Route
from replicator.placement.traffic.redis_history import RedisHistory
from tui.facts.watch.history import MINUTES
from tui.facts.watch.kept_client import kept_question
from tui.facts.watch.notice_questions import redis_name
from tui.facts.watch.question import Key, Question

AGAIN_SECONDS = 10.0
"""Time between two tries."""


def traffic_key(route: Route) -> Key:
    return Key(redis_name(route.target), f"past traffic of {route.source}")


def traffic_questions(
    appliance: Appliance, routes: Sequence[Route], timeout_seconds: float
) -> list[Question]:
    """Returns a question for each route; none where ClickHouse keeps the past."""
    if appliance.balance.history != "redis":
        return []
    return [_question(appliance, route, timeout_seconds) for route in routes]


def _question(appliance: Appliance, route: Route, timeout_seconds: float) -> Question:
    redis = appliance.region(route.target).redis_url

    def rates(history: RedisHistory) -> dict[int, float]:
        now_ms = time.time_ns() // 1_000_000
        return rates_by_minute(history.fine(now_ms - MINUTES * 60_000, now_ms))

    # The hour before the watch; after that, reports of carriers tell.
    return kept_question(
        traffic_key(route),
        AGAIN_SECONDS,
        lambda: RedisHistory(redis(), route.source, timeout_seconds),
        rates,
        is_once=True,
    )


def rates_by_minute(looks: Iterable[WindowColumns]) -> dict[int, float]:
    """Returns records per second by the minute since 1970 in which windows end.

    Windows of one look may differ in length. A minute with several looks has their mean.
    """
    rates: defaultdict[int, list[float]] = defaultdict(list)
    for look in looks:
        if len(look):
            seconds = (look.ends_ms - look.begins_ms) / 1000
            rates[int(look.ends_ms.max()) // 60_000].append(float((look.records / seconds).sum()))
    return {minute: sum(some) / len(some) for minute, some in rates.items()}
