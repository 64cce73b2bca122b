"""What one region's Redis keeps of other regions, and how old that is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from replicator.config.topology import Appliance, Route
from replicator.copies.commit_store import CommitStore
from replicator.copies.runs_copies import RunsCopies
from replicator.groups.primary_store import PrimaryCopies
from replicator.offsets.offset_store import OffsetStore
from replicator.offsets.run_columns import RunsContradict
from tui.output import table


@dataclass(frozen=True, slots=True)
class CopyShown:
    """One log of one region as it is here.

    Args:
        region: whose log it is.
        age_seconds: so long ago all that the log held is here; None: not known.
        groups, partitions, runs: how many are here; None: it has none of that, or it is unknown.
    """

    region: str
    of: str
    age_seconds: float | None
    groups: int | None = None
    partitions: int | None = None
    runs: int | None = None


def copies_in(appliance: Appliance, region: str) -> list[CopyShown]:
    """All copies in the region's Redis; raises UnknownRegion or StoreUnreachable."""
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
    """An unknown age is ?; what a copy does not have is left empty."""
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
