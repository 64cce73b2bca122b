"""Tasks of a feed: a loader that fails is begun again, and shown as failed until it works."""

from __future__ import annotations

import time
from types import SimpleNamespace

from aggregator.driver.feed_source import kept_loading
from replicator.notices.condition import Kind
from replicator.notices.conditions import Conditions


async def test_a_loader_that_failed_has_a_condition_until_it_works_again():
    held = []

    async def load(appliance, assignment, conditions):
        held.append([(it.kind, it.feed, it.cluster, it.text) for it in conditions.current])
        if len(held) == 1:
            raise ValueError("a fault")
        conditions.replace(Kind.LOADER_FAILED, {})
        return "receipts"

    conditions = Conditions("loader 1 of flights in west regional")
    assignment = SimpleNamespace(
        feed=SimpleNamespace(name="flights"),
        cluster="west regional",
        partitions=(),
        plan_version=3,
        deadline=time.monotonic() + 60.0,
        log_fields="feed=flights",
    )
    assert await kept_loading(None, assignment, conditions, load) == "receipts"
    expected = ("loader-failed", "flights", "west regional", "unexpected ValueError: a fault")
    assert held == [[], [expected]]
    assert conditions.current == ()
