"""`make demo`: a year of real flights mirrored between two regions, and every record checked.

1. two regions start: four Kafka brokers and two Redis servers
2. each region's regional cluster is filled with its own airports' flights
3. `sluice replicate` runs for both regions until everything has arrived, then gets SIGTERM
4. both ends are read again by another client and compared record by record

Exit status 0: every record is in every region, once, in order, unchanged.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from deploy.lab import flights
from deploy.lab.compare import Comparison, RouteVerdict
from deploy.lab.dump import BOTH, PartitionDump, compare_dumps, dump
from deploy.lab.kafka import CHECKOUT
from deploy.lab.lab import AlreadyUp, Lab, LabRegion
from deploy.lab.process import NotStarted, Process
from deploy.lab.progress import Stretch, log_sizes

DIRECTORY = CHECKOUT / ".lab" / "demo"
PARTITIONS = {topic.name: topic.partitions for topic in flights.TOPICS}

LOOK_EVERY_SECONDS = 0.25
SAY_EVERY_SECONDS = 2.0
# Spark alone takes ten seconds or more to start on a small machine.
SILENCE_SECONDS_MAX = 180.0
END_SECONDS_MAX = 60.0

console = Console(highlight=False, soft_wrap=True)
# Rich takes 80 columns where there is no terminal, and would cut the table.
TABLE_COLUMNS_MIN = 100


class Stalled(Exception):
    """Nothing arrives any more and records are missing; the message says where to look."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the final table: one topic on one route."""

    route: str
    topic: str
    verdict: RouteVerdict
    size_bytes: int
    # Of all routes into the region together: log ends do not tell whose records arrived.
    stretch: Stretch


def main() -> int:
    began_at = time.monotonic()
    console.print("[bold]1. Two regions start[/]: four Kafka brokers, two Redis servers")
    try:
        with Lab(DIRECTORY) as lab:
            say(f"up after {time.monotonic() - began_at:.0f} s")
            counts = fill(lab.regions)
            stretches = mirror(lab, counts)
            is_right = check(lab.regions, stretches)
    except (AlreadyUp, NotStarted, Stalled) as error:
        console.print(f"[red]{error}[/]", markup=True)
        return 1
    say(f"all ended after {time.monotonic() - began_at:.0f} s")
    return 0 if is_right else 1


def say(text: str) -> None:
    console.print(f"   {text}")


def fill(regions: Mapping[str, LabRegion]) -> dict[str, int]:
    """Loads the flights; records by topic, of all regions."""
    console.print("[bold]2. The flights of 2013[/] go into each airport's regional cluster")
    totals = dict.fromkeys(PARTITIONS, 0)
    for name, region in regions.items():
        began_at = time.monotonic()
        counts = flights.load(region.regional, name)
        for topic, count in counts.items():
            totals[topic] += count
        listed = ", ".join(f"{topic} {count:,}" for topic, count in counts.items())
        say(f"{name}: {listed} ({time.monotonic() - began_at:.0f} s)")
    return totals


def mirror(lab: Lab, counts: Mapping[str, int]) -> dict[tuple[str, str], Stretch]:
    """Runs both replicators until everything has arrived, and ends them; by region and topic."""
    console.print("[bold]3. sluice replicate[/] carries every route into both regions")
    replicators = {
        name: Process(
            f"sluice replicate --region {name}",
            [
                str(Path(sys.executable).with_name("sluice")),
                *("replicate", "--config", str(lab.configuration), "--region", name),
            ],
            lab.directory / f"{name}-replicate.log",
        )
        for name in lab.regions
    }
    try:
        stretches = watch(lab.regions, replicators, counts)
        end(list(replicators.values()))
    finally:
        for replicator in replicators.values():
            replicator.kill()
    return stretches


def watch(
    regions: Mapping[str, LabRegion],
    replicators: Mapping[str, Process],
    counts: Mapping[str, int],
) -> dict[tuple[str, str], Stretch]:
    """Looks at the aggregate clusters until all is there; raises Stalled and NotStarted."""
    admins = {name: region.aggregate.admin() for name, region in regions.items()}
    stretches = {
        (name, topic): Stretch(expected) for name in regions for topic, expected in counts.items()
    }
    began_at = time.monotonic()
    now = said_at = moved_at = 0.0
    arrived_before = 0
    while not all(stretch.is_done for stretch in stretches.values()):
        time.sleep(LOOK_EVERY_SECONDS)
        looked_before_at = now
        for name, admin in admins.items():
            sizes = log_sizes(admin, PARTITIONS)
            now = time.monotonic() - began_at
            for topic, size in sizes.items():
                stretches[name, topic].see(size, now=now, looked_before_at=looked_before_at)
        arrived = sum(stretch.arrived for stretch in stretches.values())
        if arrived != arrived_before:
            moved_at = now
        if now - said_at >= SAY_EVERY_SECONDS and arrived != arrived_before:
            say(progress(stretches, regions, now))
            said_at = now
        arrived_before = arrived
        for replicator in replicators.values():
            if not replicator.is_running():
                raise replicator.failure("has ended")
        if now - moved_at > SILENCE_SECONDS_MAX:
            logs = ", ".join(str(replicator.log) for replicator in replicators.values())
            raise Stalled(
                f"nothing has arrived for {SILENCE_SECONDS_MAX:.0f} s:"
                f" {progress(stretches, regions, now)}; see {logs}"
            )
    say(progress(stretches, regions, now))
    return stretches


def progress(
    stretches: Mapping[tuple[str, str], Stretch], regions: Mapping[str, LabRegion], now: float
) -> str:
    parts = [f"{now:5.1f} s"]
    for name in regions:
        own = [stretch for (region, _), stretch in stretches.items() if region == name]
        arrived, expected = sum(s.arrived for s in own), sum(s.expected for s in own)
        parts.append(f"into {name} {arrived:>9,} of {expected:,} ({arrived / expected:4.0%})")
    return "   ".join(parts)


def end(replicators: Sequence[Process]) -> None:
    """SIGTERM to both: they drain, release their partitions, and end; raises NotStarted."""
    began_at = time.monotonic()
    for replicator in replicators:
        replicator.send(signal.SIGTERM)
    for replicator in replicators:
        try:
            status = replicator.wait(END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            raise replicator.failure(f"does not end within {END_SECONDS_MAX:.0f} s") from None
        if status:
            raise replicator.failure(f"ended with status {status}")
    say(f"both ended on SIGTERM after {time.monotonic() - began_at:.1f} s")


def check(regions: Mapping[str, LabRegion], stretches: Mapping[tuple[str, str], Stretch]) -> bool:
    """Compares both ends of every route and prints the table; whether all is right."""
    console.print("[bold]4. Both ends are read again[/] and compared record by record")
    began_at = time.monotonic()
    rows: list[Row] = []
    problems: list[str] = []
    for topic in PARTITIONS:
        dumps = {name: dump(region.regional, topic) for name, region in regions.items()}
        for target, region in regions.items():
            sources = {f"{source}>{target}": dumps[source] for source in regions}
            comparisons = [
                compare_dumps(sources, dump(region.aggregate, topic, isolation), topic)
                for isolation in BOTH
            ]
            for isolation, comparison in zip(BOTH, comparisons, strict=True):
                problems += [f"into {target}, {isolation}: {text}" for text in wrong(comparison)]
            # The table has room for one way to read: the first that shows a fault.
            shown = next((c for c in comparisons if not c.is_right), comparisons[0])
            rows += [
                Row(route, topic, shown.routes[route], size_of(source), stretches[target, topic])
                for route, source in sources.items()
            ]
    console.print(table(rows), width=max(console.width, TABLE_COLUMNS_MIN))
    for target in regions:
        say(total([row for row in rows if row.route.endswith(f">{target}")], target))
    records = sum(row.verdict.sent for row in rows)
    say(
        f"{records:,} records compared by key, value, headers, timestamp and order per partition,"
        f" each as read_committed and as read_uncommitted ({time.monotonic() - began_at:.0f} s)"
    )
    for problem in problems:
        console.print(f"[red]{problem}[/]")
    if not problems:
        console.print("[bold green]Every record is in every region exactly once.[/]")
    return not problems


def size_of(source: Mapping[int, PartitionDump]) -> int:
    return sum(partition.size_bytes for partition in source.values())


def wrong(comparison: Comparison) -> list[str]:
    """What is wrong, in words; nothing when all is right."""
    foreign = [f"{comparison.foreign} foreign records"] if comparison.foreign else []
    return [*foreign, *comparison.examples]


def table(rows: Sequence[Row]) -> Table:
    """One line per route and topic; MB of keys, values and headers as the application sees them."""
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


def total(rows: Sequence[Row], target: str) -> str:
    """How fast everything went into one region, from its first record to its last."""
    size_mb = sum(row.size_bytes for row in rows) / 1e6
    arrived = sum(row.verdict.arrived for row in rows)
    began_at = min(row.stretch.began_at or 0.0 for row in rows)
    seconds = max(row.stretch.done_at or 0.0 for row in rows) - began_at
    return (
        f"into {target}: {arrived:,} records, {size_mb:.0f} MB in {seconds:.1f} s"
        f" = {arrived / seconds:,.0f}/s, {size_mb / seconds:.1f} MB/s"
    )


def rate(row: Row) -> str:
    """MB a second; nothing for topics that are over before they could be timed."""
    seconds = row.stretch.seconds
    if seconds is None or seconds < 2 * LOOK_EVERY_SECONDS:
        return "-"
    return f"{row.size_bytes / 1e6 / seconds:.1f}"


if __name__ == "__main__":
    sys.exit(main())
