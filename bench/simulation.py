"""Simulated cluster: histories for an hour, and how fast they are.

    .venv/bin/python -m bench.simulation [--minutes 60] [--jobs 2]

Families of histories take turns. Each run goes on behind the seeds of the last one, and its figures
go into bench/results/simulation.json. Ends with 1 if a history was wrong: its seed is printed, and
`python -m tests.world FAMILY SEED` plays it again.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from bench.machine import described, load_average
from tests.world.families import FAMILIES, Asked
from tests.world.pool import Played, Pool

FILE = Path(__file__).parent / "results" / "simulation.json"


def kept() -> dict[str, Any]:
    """Returns what is kept of earlier runs."""
    found: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return found


def keep(whole: dict[str, Any]) -> None:
    """Keeps the results, and the sums over all runs."""
    runs = whole.get("runs", [])
    whole |= {
        "machine": described(),
        "steps_of_all_runs": sum(run["steps"] for run in runs),
        "virtual_hours_of_all_runs": round(sum(run["virtual_hours"] for run in runs), 2),
    }
    FILE.write_text(json.dumps(whole, indent=2) + "\n")


def asked_until(give_up_at: float, first_seed: int) -> Iterator[Asked]:
    """Yields histories of all families in turn, until a time of the clock."""
    seed = first_seed
    while True:
        for family in FAMILIES:
            if time.monotonic() >= give_up_at:
                return
            yield Asked(family, seed)
        seed += 1


def figures(results: list[Played], seconds: float) -> dict[str, Any]:
    """Returns the figures of histories that took some seconds."""
    steps = sum(it.steps for it in results)
    virtual = sum(it.seconds for it in results)
    return {
        "histories": {
            family: sum(it.asked.family == family for it in results) for family in FAMILIES
        },
        "wrong": [
            {"family": it.asked.family, "seed": it.asked.seed, "text": it.wrong}
            for it in results
            if it.wrong
        ],
        "steps": steps,
        "records": sum(it.records for it in results),
        "virtual_hours": round(virtual / 3600, 2),
        "minutes": round(seconds / 60, 2),
        "steps_per_second": round(steps / seconds),
        "virtual_hours_per_minute": round(virtual / 60 / seconds, 3),
    }


@click.command()
@click.option("--minutes", default=60.0, show_default=True, help="How long histories are begun.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
def main(minutes: float, jobs: int) -> None:
    """Play histories of the simulated cluster, seed after seed."""
    whole = kept()
    runs: list[dict[str, Any]] = whole.setdefault("runs", [])
    first = max((run["last_seed"] for run in runs), default=0) + 1
    load, began = load_average(), time.monotonic()
    results: list[Played] = []
    bar = click.progressbar(length=int(60 * minutes), file=sys.stderr, show_pos=False)
    with Pool(jobs) as pool, bar:
        for played in pool.play(asked_until(began + 60 * minutes, first)):
            results.append(played)
            if played.wrong:
                click.echo(f"{played.asked.family}: {played.wrong}")
            steps = sum(it.steps for it in results)
            bar.label = f"seed {played.asked.seed}, {steps / 1e6:.1f} million steps"
            bar.update(int(time.monotonic() - began) - bar.pos)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = {
        "first_seed": first,
        "last_seed": max((it.asked.seed for it in results), default=first),
        "jobs": jobs,
        "load_before": load,
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        **figures(results, time.monotonic() - began),
    }
    runs.append(run)
    keep(whole)
    click.echo(json.dumps(run, indent=2))
    sys.exit(bool(run["wrong"]))


if __name__ == "__main__":
    main()
