"""Proof that the simulated cluster proves: seeds until each mutation is found.

    .venv/bin/python -m bench.mutations [NAME ...] [--starts 20] [--seeds-max 60] [--jobs 2]

A start plays seeds of its own, one after the other, until a history is wrong. The median of all
starts goes into bench/results/simulation.json, from which docs/simulation.md has its table.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from statistics import median
from typing import Any

import click

from bench.simulation import keep, kept
from tests.world.families import FAMILIES, Asked
from tests.world.pool import Pool

BETWEEN_STARTS = 10_000
"""Distance of the first seeds of two starts."""


@dataclass(slots=True)
class Start:
    """A start of the search for one mutation.

    Args:
        first: seed.
        played: number of seeds so far.
        seconds: virtual time so far, without the history that is wrong.
    """

    first: int
    played: int = 0
    seconds: float = 0.0
    is_found: bool = False


def search(family: str, name: str, pool: Pool, count: int, seeds_max: int) -> list[Start]:
    """Plays seeds of all starts until each has found the mutation, or has played enough."""
    starts = [Start(number * BETWEEN_STARTS + 1) for number in range(count)]
    while left := [it for it in starts if not it.is_found and it.played < seeds_max]:
        # One seed of each start at a time: the pool is full, and no start waits for another.
        by_seed = {it.first + it.played: it for it in left}
        for played in pool.play(Asked(family, seed, name) for seed in by_seed):
            start = by_seed[played.asked.seed]
            start.played += 1
            start.seconds += played.seconds
            start.is_found = played.wrong is not None
    return starts


def summary(starts: list[Start]) -> dict[str, Any]:
    """Returns the figures of a mutation; a start that found nothing counts as endless."""
    middle = median(it.played if it.is_found else math.inf for it in starts)
    return {
        "starts": len(starts),
        "found": sum(it.is_found for it in starts),
        "median_seeds": None if middle == math.inf else middle,
        "seeds_max": max(it.played for it in starts),
        "virtual_hours": round(sum(it.seconds for it in starts) / 3600, 2),
    }


@click.command()
@click.argument("names", nargs=-1)
@click.option("--starts", "count", default=20, show_default=True)
@click.option("--seeds-max", default=60, show_default=True, help="Seeds of a start at most.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
def main(names: tuple[str, ...], count: int, seeds_max: int, jobs: int) -> None:
    """Play histories with a rule taken out until they are wrong."""
    for family, each in FAMILIES.items():
        for name, rule in each.mutations.items():
            if names and name not in names:
                continue
            with Pool(jobs) as pool:
                starts = search(family, name, pool, count, seeds_max)
            row = {"rule": rule, "family": family, "name": name, **summary(starts)}
            click.echo(f"{row}")
            whole = kept()
            rows = [it for it in whole.get("mutations", []) if it["name"] != name]
            whole["mutations"] = sorted([*rows, row], key=lambda it: (it["rule"], it["name"]))
            keep(whole)


if __name__ == "__main__":
    main()
