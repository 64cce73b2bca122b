"""Probe for copies of other regions' logs: reads one region's Redis."""

from __future__ import annotations

import time
from collections.abc import Callable

from replicator.config.topology import Appliance, Route
from replicator.groups.copies.commit_store import CommitStore
from replicator.groups.copies.runs_copies import RunsCopies
from replicator.groups.membership.primary_store import PrimaryCopies
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.run_columns import RunsContradict
from tui.facts.copies import RegionCopy


def copies_in(appliance: Appliance, region: str) -> list[RegionCopy]:
    """Returns all copies in the region's Redis. Raises UnknownRegion or StoreUnreachable."""
    url = appliance.region(region).redis_url()
    found: list[RegionCopy] = []
    for source in sorted(appliance.regions):
        if source != region:
            with CommitStore(url, source) as commits:
                count = len(commits.groups())
                found.append(RegionCopy(source, "commits", _seconds(commits.age), count))
            found += [_runs(url, route) for route in appliance.routes_into(source)]
        with PrimaryCopies(url, source) as primaries:
            found.append(RegionCopy(source, "primary regions", _seconds(primaries.age)))
    return found


def _runs(url: str, route: Route) -> RegionCopy:
    with RunsCopies(url, route.key) as copies, OffsetStore(url, route.key) as store:
        age_seconds, keys = _seconds(copies.age), store.keys()
        runs: int | None = 0
        try:
            runs = sum(len(store.load(key)) for key in keys)
        except RunsContradict:
            runs = None
    return RegionCopy(route.target, f"runs {route}", age_seconds, partitions=len(keys), runs=runs)


def _seconds(age: Callable[[int], int | None]) -> float | None:
    age_ms = age(time.time_ns() // 1_000_000)
    return None if age_ms is None else max(0, age_ms) / 1000
