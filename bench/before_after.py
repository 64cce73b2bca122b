"""Comparison of this checkout with an older one in one run, so that no slowdown goes unnoticed.

python -m bench.before_after CHECKOUT [--case bytes200 ...] [--rounds 3]

CHECKOUT is a clone at an older commit, set up by its own `make setup`. Both versions mirror
and load the same topics in turn. Figures and ratios go into bench/results/before_after.json.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Protocol

import click

from bench import (
    feed_load,
    feed_throughput,
    feeds,
    latency,
    machine,
    object_feeds,
    object_throughput,
    replicate,
)
from bench.__main__ import LOADS
from bench.feed_ground import FeedGround
from bench.feed_system import FeedOrder
from bench.ground import Ground, delete_topics, say
from bench.load import fill
from bench.object_ground import ObjectGround
from bench.sluice_feed import SluiceFeed
from bench.sluice_objects import SluiceObjects
from bench.sluice_run import OWN_PROGRAM, Sluice, program_of
from deploy.lab.kafka import CHECKOUT

FILE = CHECKOUT / "bench" / "results" / "before_after.json"
SECONDS_MAX = 25.0
LATENCY_SECONDS = 60.0
LATENCY_WARM_SECONDS = 12.0

Figures = Mapping[str, float]
Programs = Mapping[str, Path]
"""The `sluice` of each version, "before" and "after"."""
Compared = dict[str, Figures]
"""Medians of each version, and the ratios of the later one's to the earlier one's."""


class Throughput(Protocol):
    """Figures of a window of steady work that all benches have."""

    @property
    def cpu_seconds_per_million(self) -> float:
        """CPU seconds for a million records, without the brokers'."""

    @property
    def peak_rss_mb(self) -> float:
        """Largest memory of the process tree."""


def mirrored(case: str, programs: Programs, rounds: int) -> Compared:
    """Mirrors a full topic of `bench`."""
    load = LOADS[case]
    with Ground() as ground:
        fill(ground, load)

        def measured(program: Path) -> Figures:
            factory = partial(Sluice, program=program)
            window = replicate.measured(ground, "sluice", factory, load, seconds_max=SECONDS_MAX)
            return _figures(window.records_per_second, window)

        try:
            return _in_turn(case, programs, rounds, measured)
        finally:
            delete_topics(ground.source, [load.topic])


def delayed(case: str, programs: Programs, rounds: int) -> Compared:
    """Mirrors a topic that is written at an even rate meanwhile."""
    with Ground() as ground:

        def measured(program: Path) -> Figures:
            found = latency.measured(
                ground,
                partial(Sluice, program=program),
                warm_seconds=LATENCY_WARM_SECONDS,
                seconds=LATENCY_SECONDS,
                epoch_seconds=600.0,
            )
            return {"p50_ms": found.p50, "p99_ms": found.p99}

        return _in_turn(case, programs, rounds, measured)


def loaded(case: str, programs: Programs, rounds: int) -> Compared:
    """Loads a full topic of `bench.feeds` into ClickHouse."""
    load = feeds.CASES[case].load
    with FeedGround() as ground:
        feed_load.fill(ground.kafka, load)

        def measured(program: Path) -> Figures:
            with ground.shard(quorum=0, profile={}) as shard:
                loader = SluiceFeed(shard, FeedOrder(load), program=program)
                loader.start()
                try:
                    window = feed_throughput.measured(
                        shard, loader, load.rows, seconds_max=SECONDS_MAX
                    )
                finally:
                    loader.stop()
            return _figures(window.rows_per_second, window)

        return _in_turn(case, programs, rounds, measured)


def written(case: str, programs: Programs, rounds: int) -> Compared:
    """Writes a full topic of `bench.object_feeds` into objects."""
    order = object_feeds.RATED[case]
    with ObjectGround() as ground:
        feed_load.fill(ground.kafka, order.load)

        def measured(program: Path) -> Figures:
            with ground.bucket() as bucket:
                writer = SluiceObjects(bucket, order, program=program)
                writer.start()
                try:
                    window, _ = object_throughput.measured(bucket, writer, order)
                finally:
                    writer.stop()
            assert window, "all objects were shown at once: there is no steady window"
            return {
                "records_per_second": window.records_per_second,
                "cpu_seconds_per_million": window.per_million(window.cpu_seconds),
                "peak_rss_mb": window.peak_rss_mb,
            }

        return _in_turn(case, programs, rounds, measured)


CASES: Mapping[str, Callable[[str, Programs, int], Compared]] = {
    "bytes200": mirrored,
    "bytes1000": mirrored,
    "one_record_batches": mirrored,
    "latency2000": delayed,
    "json200": loaded,
    "parquet200": written,
}


@click.command()
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--case", "cases", multiple=True, type=click.Choice([*CASES]), help="Default: all of them."
)
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1))
def main(checkout: Path, cases: Sequence[str], rounds: int) -> None:
    """Ratios are this checkout's medians to the other's."""
    programs = {"before": program_of(checkout), "after": OWN_PROGRAM}
    load_before = machine.load_average()
    found = {case: CASES[case](case, programs, rounds) for case in cases or CASES}
    kept = {
        "machine": machine.described(),
        "load average at the start": round(load_before, 1),
        "before": _commit(checkout),
        "after": _commit(CHECKOUT),
        "rounds": rounds,
        **found,
    }
    FILE.write_text(json.dumps(kept, indent=2) + "\n")
    print(json.dumps(found, indent=2))


def _figures(per_second: float, window: Throughput) -> Figures:
    return {
        "records_per_second": per_second,
        "cpu_seconds_per_million": window.cpu_seconds_per_million,
        "peak_rss_mb": window.peak_rss_mb,
    }


def _in_turn(
    case: str, programs: Programs, rounds: int, measured: Callable[[Path], Figures]
) -> Compared:
    """Measures all versions in each round; the order alternates."""
    found: dict[str, list[Figures]] = {version: [] for version in programs}
    for number in range(rounds):
        for version in [*programs][:: -1 if number % 2 else 1]:
            say(f"{case}, round {number + 1}: {version}")
            figures = measured(programs[version])
            say("  " + ", ".join(f"{name} {value:.4g}" for name, value in figures.items()))
            found[version].append(figures)
    return _compared(found)


def _compared(measured: Mapping[str, Sequence[Figures]]) -> Compared:
    names = measured["after"][0]
    medians = {
        version: {name: median(each[name] for each in rounds) for name in names}
        for version, rounds in measured.items()
    }
    ratio = {name: medians["after"][name] / medians["before"][name] for name in names}
    return {
        version: {name: float(f"{value:.4g}") for name, value in figures.items()}
        for version, figures in {**medians, "ratio": ratio}.items()
    }


def _commit(checkout: Path) -> str:
    asked = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
