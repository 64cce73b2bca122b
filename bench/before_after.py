"""Comparison of this checkout with an older one in one run, so that no slowdown goes unnoticed.

python -m bench.before_after CHECKOUT [--rounds 3]

CHECKOUT is a clone at an older commit, set up by its own `make setup`. Both versions mirror the
same topics in turn. The figures and their ratios go into bench/results/before_after.json.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import median

import click

from bench import latency, machine, replicate
from bench.__main__ import LOADS
from bench.ground import Ground, delete_topics, say
from bench.load import fill
from bench.mirror import Factory
from bench.sluice_run import Sluice, program_of
from deploy.lab.kafka import CHECKOUT

FILE = CHECKOUT / "bench" / "results" / "before_after.json"
CASES = ("bytes200", "bytes1000", "one_record_batches")
SECONDS_MAX = 25.0
LATENCY_SECONDS = 60.0
LATENCY_WARM_SECONDS = 12.0

Figures = Mapping[str, float]


@click.command()
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1))
def main(checkout: Path, rounds: int) -> None:
    """Ratios are this checkout's medians to the other's."""
    program = program_of(checkout)
    versions: dict[str, Factory] = {"before": partial(Sluice, program=program), "after": Sluice}
    load_before = machine.load_average()
    found: dict[str, object] = {}
    with Ground() as ground:
        for case in CASES:
            found[case] = _throughput(ground, case, versions, rounds)
        found["latency2000"] = _latency(ground, versions, rounds)
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


def _throughput(
    ground: Ground, case: str, versions: Mapping[str, Factory], rounds: int
) -> dict[str, Figures]:
    load = LOADS[case]
    fill(ground, load)
    measured: dict[str, list[Figures]] = {name: [] for name in versions}
    try:
        for number in range(rounds):
            for name, factory in _in_turn(versions, number):
                say(f"{case}, round {number + 1}: {name}")
                window = replicate.measured(ground, name, factory, load, seconds_max=SECONDS_MAX)
                measured[name].append(
                    {
                        "records_per_second": window.records_per_second,
                        "cpu_seconds_per_million": window.cpu_seconds_per_million,
                        "peak_rss_mb": window.peak_rss_mb,
                    }
                )
    finally:
        delete_topics(ground.source, [load.topic])
    return _compared(measured)


def _latency(ground: Ground, versions: Mapping[str, Factory], rounds: int) -> dict[str, Figures]:
    measured: dict[str, list[Figures]] = {name: [] for name in versions}
    for number in range(rounds):
        for name, factory in _in_turn(versions, number):
            say(f"latency2000, round {number + 1}: {name}")
            figures = latency.measured(
                ground,
                factory,
                warm_seconds=LATENCY_WARM_SECONDS,
                seconds=LATENCY_SECONDS,
                epoch_seconds=600.0,
            )
            measured[name].append({"p50_ms": figures.p50, "p99_ms": figures.p99})
    return _compared(measured)


def _in_turn(versions: Mapping[str, Factory], number: int) -> list[tuple[str, Factory]]:
    """Returns the versions in the order of this round; the order alternates."""
    found = list(versions.items())
    return found[::-1] if number % 2 else found


def _compared(measured: Mapping[str, list[Figures]]) -> dict[str, Figures]:
    """Returns the medians of each version, and their ratios."""
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
