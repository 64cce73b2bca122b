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
from typing import Any

import click

from bench.machine import load_average
from bench.simulation_results import read_results, with_run, write_results
from tests.world.families import FAMILIES, HistoryRequest
from tests.world.pool import Played, Pool


def histories_until(give_up_at: float, first_seed: int) -> Iterator[HistoryRequest]:
    """Yields histories of all families in turn, until a time of the clock."""
    seed = first_seed
    while True:
        for family in FAMILIES:
            if time.monotonic() >= give_up_at:
                return
            yield HistoryRequest(family, seed)
        seed += 1


def figures(results: list[Played], seconds: float) -> dict[str, Any]:
    """Returns the figures of histories that took some seconds."""
    steps = sum(each.steps for each in results)
    virtual = sum(each.seconds for each in results)
    return {
        "histories": {
            family: sum(each.asked.family == family for each in results) for family in FAMILIES
        },
        "wrong": [
            {"family": each.asked.family, "seed": each.asked.seed, "text": each.wrong}
            for each in results
            if each.wrong
        ],
        "steps": steps,
        "records": sum(each.records for each in results),
        "virtual_hours": round(virtual / 3600, 2),
        "minutes": round(seconds / 60, 2),
        "steps_per_second": round(steps / seconds),
        "virtual_hours_per_minute": round(virtual / 60 / seconds, 3),
    }


def play(minutes: float, jobs: int, first_seed: int) -> list[Played]:
    """Plays histories for some minutes, with a progress bar; tells those that are wrong."""
    began = time.monotonic()
    results: list[Played] = []
    bar = click.progressbar(length=int(60 * minutes), file=sys.stderr, show_pos=False)
    with Pool(jobs) as pool, bar:
        for played in pool.play(histories_until(began + 60 * minutes, first_seed)):
            results.append(played)
            if played.wrong:
                click.echo(f"{played.asked.family}: {played.wrong}")
            steps = sum(each.steps for each in results)
            bar.label = f"seed {played.asked.seed}, {steps / 1e6:.1f} million steps"
            bar.update(int(time.monotonic() - began) - bar.pos)
    return results


@click.command()
@click.option("--minutes", default=60.0, show_default=True, help="How long histories are begun.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
def main(minutes: float, jobs: int) -> None:
    """Play histories of the simulated cluster, seed after seed."""
    earlier = read_results().get("runs", [])
    first = max((run["last_seed"] for run in earlier), default=0) + 1
    load, began = load_average(), time.monotonic()
    results = play(minutes, jobs, first)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = {
        "first_seed": first,
        "last_seed": max((each.asked.seed for each in results), default=first),
        "jobs": jobs,
        "load_before": load,
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        **figures(results, time.monotonic() - began),
    }
    write_results(with_run(read_results(), run))
    click.echo(json.dumps(run, indent=2))
    sys.exit(bool(run["wrong"]))


if __name__ == "__main__":
    main()
