"""Results of the demo: both ends of every route compared, as a table and as a verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

from deploy.lab.compare import Comparison, RouteVerdict
from deploy.lab.dump import BOTH, PartitionDump, compare_dumps, dump
from deploy.lab.lab import LabRegion
from deploy.lab.progress import TransferProgress

# A shorter transfer is over before it can be timed.
TIMED_SECONDS_MIN = 0.5


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: one topic on one route."""

    route: str
    topic: str
    verdict: RouteVerdict
    size_bytes: int
    # Covers all routes into the region: log ends do not tell by which route records arrived. None:
    # not watched.
    stretch: TransferProgress | None


def compare_regions(
    regions: Mapping[str, LabRegion],
    topics: Sequence[str],
    stretches: Mapping[tuple[str, str], TransferProgress],
) -> tuple[list[Row], list[str]]:
    """Reads everything again. Returns the table's rows, and descriptions of the faults."""
    rows: list[Row] = []
    problems: list[str] = []
    for topic in topics:
        dumps = {name: dump(region.regional, topic) for name, region in regions.items()}
        for target, region in regions.items():
            sources = {f"{source}>{target}": dumps[source] for source in regions}
            comparisons = [
                compare_dumps(sources, dump(region.aggregate, topic, isolation), topic)
                for isolation in BOTH
            ]
            for isolation, comparison in zip(BOTH, comparisons, strict=True):
                problems += [f"into {target}, {isolation}: {text}" for text in wrong(comparison)]
            # The table has room for one isolation level: the first that shows a fault.
            shown = next((c for c in comparisons if not c.is_right), comparisons[0])
            stretch = stretches.get((target, topic))
            rows += [
                Row(route, topic, shown.routes[route], size_of(source), stretch)
                for route, source in sources.items()
            ]
    return rows, problems


def size_of(source: Mapping[int, PartitionDump]) -> int:
    return sum(partition.size_bytes for partition in source.values())


def wrong(comparison: Comparison) -> list[str]:
    """Returns descriptions of the faults; empty if all records are right."""
    foreign = [f"{comparison.foreign} foreign records"] if comparison.foreign else []
    return [*foreign, *comparison.examples]


def table(rows: Sequence[Row]) -> Table:
    """Returns one line per route and topic, with MB of uncompressed keys, values and headers."""
    found = Table(box=None, padding=(0, 1))
    for name in ("route", "topic"):
        found.add_column(name, no_wrap=True)
    for name in ("sent", "arrived", "lost", "duplicated", "reordered", "changed", "MB/s"):
        found.add_column(name, justify="right", no_wrap=True)
    for row in sorted(rows, key=lambda row: row.route):
        v = row.verdict
        faults = (v.lost, v.duplicated, v.reordered, v.changed)
        found.add_row(
            row.route,
            row.topic,
            f"{v.sent:,}",
            f"{v.arrived:,}",
            *(f"[red]{fault:,}[/]" if fault else "0" for fault in faults),
            rate(row),
        )
    return found


def rate(row: Row) -> str:
    """Returns MB per second, or "-" for topics that were not timed or took too little time."""
    seconds = row.stretch.seconds if row.stretch else None
    if seconds is None or seconds < TIMED_SECONDS_MIN:
        return "-"
    return f"{row.size_bytes / 1e6 / seconds:.1f}"


def total(rows: Sequence[Row], target: str) -> str:
    """Returns the rate of everything that was timed into a region, from first to last record."""
    timed = [
        (row, row.stretch.began_at, row.stretch.done_at)
        for row in rows
        if row.route.endswith(f">{target}")
        and row.stretch
        and row.stretch.began_at is not None
        and row.stretch.done_at is not None
    ]
    arrived = sum(row.verdict.arrived for row, _, _ in timed)
    size_mb = sum(row.size_bytes for row, _, _ in timed) / 1e6
    seconds = max(done_at for _, _, done_at in timed) - min(began_at for _, began_at, _ in timed)
    return (
        f"into {target}: {arrived:,} records, {size_mb:.0f} MB in {seconds:.1f} s"
        f" = {arrived / seconds:,.0f}/s, {size_mb / seconds:.1f} MB/s"
    )
