"""Copies of other regions' logs in one region's Redis, with their ages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from replicator.config.topology import Appliance, Route
from replicator.groups.copies.commit_store import CommitStore
from replicator.groups.copies.runs_copies import RunsCopies
from replicator.groups.membership.primary_store import PrimaryCopies
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.run_columns import RunsContradict
from tui.cli.output import table


@dataclass(frozen=True, slots=True)
class CopyShown:
    """Copy of one region's log.

    Args:
        region: region that the log belongs to.
        of: content of the log: commits, runs of a route, or primary regions.
        age_seconds: the copy has everything that the log held this long ago; None when not known.
        groups, partitions, runs: numbers of each in the copy. None when such a copy has none of
            the kind, or the number is not known.
    """

    region: str
    of: str
    age_seconds: float | None
    groups: int | None = None
    partitions: int | None = None
    runs: int | None = None


def copies_in(appliance: Appliance, region: str) -> list[CopyShown]:
    """Returns all copies in the region's Redis. Raises UnknownRegion or StoreUnreachable."""
    url = appliance.region(region).redis_url()
    shown: list[CopyShown] = []
    for source in sorted(appliance.regions):
        if source != region:
            with CommitStore(url, source) as commits:
                count = len(commits.groups())
                shown.append(CopyShown(source, "commits", _seconds(commits.age), count))
            shown += [_runs(url, route) for route in appliance.routes_into(source)]
        with PrimaryCopies(url, source) as primaries:
            shown.append(CopyShown(source, "primary regions", _seconds(primaries.age)))
    return shown


def _runs(url: str, route: Route) -> CopyShown:
    with RunsCopies(url, route.key) as copies, OffsetStore(url, route.key) as store:
        age_seconds, keys = _seconds(copies.age), store.keys()
        runs: int | None = 0
        try:
            runs = sum(len(store.load(key)) for key in keys)
        except RunsContradict:
            runs = None
    return CopyShown(route.target, f"runs {route}", age_seconds, partitions=len(keys), runs=runs)


def _seconds(age: Callable[[int], int | None]) -> float | None:
    age_ms = age(time.time_ns() // 1_000_000)
    return None if age_ms is None else max(0, age_ms) / 1000


def as_values(copies: Iterable[CopyShown]) -> list[dict[str, Any]]:
    return [asdict(copy) for copy in copies]


def as_text(copies: Iterable[CopyShown]) -> str:
    """Formats a table. An unknown value is ?; a kind that a copy does not have is left empty."""
    rows = [
        (
            copy.region,
            copy.of,
            copy.age_seconds,
            "" if copy.groups is None else copy.groups,
            "" if copy.partitions is None else copy.partitions,
            copy.runs if copy.partitions is not None else "",
        )
        for copy in copies
    ]
    return table(("REGION", "COPY OF", "AGE (S)", "GROUPS", "PARTITIONS", "RUNS"), rows)
