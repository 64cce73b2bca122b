"""Proof that the simulated cluster proves: seeds until each mutation is found.

    .venv/bin/python -m bench.mutations [NAME ...] [--starts 20] [--seeds-max 20] [--jobs 2]

A start plays seeds of its own, one after the other, until a history is wrong. The median of all
starts goes into bench/results/simulation.json, from which docs/simulation.md has its table.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection
from dataclasses import dataclass
from statistics import median
from typing import Any

import click

from bench.simulation_results import read_results, with_mutation, write_results
from tests.world.families import FAMILIES, HistoryRequest
from tests.world.pool import Pool

BETWEEN_STARTS = 10_000
"""Distance of the first seeds of two starts."""
SEEDS_MAX = 20
"""Seeds after which a start gives up."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """Mutation of a family of histories.

    Args:
        rule: number of the rule that it takes out.
    """

    rule: int
    name: str
    family: str


@dataclass(slots=True)
class Start:
    """A start of the search for one mutation.

    Args:
        first: seed.
        played: number of seeds so far.
        seconds: virtual time of their histories that were right.
        wrong_seconds: virtual time of the one that was not.
    """

    first: int
    played: int = 0
    seconds: float = 0.0
    wrong_seconds: float = 0.0
    is_found: bool = False


def mutations() -> list[Mutation]:
    """Returns the mutations of all families, by rule."""
    found = [
        Mutation(rule, name, key)
        for key, family in FAMILIES.items()
        for name, rule in family.mutations.items()
    ]
    return sorted(found, key=lambda each: (each.rule, each.name))


def selected(names: Collection[str]) -> list[Mutation]:
    """Returns the mutations with these names, or all; raises BadParameter for an unknown name."""
    known = mutations()
    if unknown := {*names} - {each.name for each in known}:
        raise click.BadParameter(f"there is no mutation {', '.join(sorted(unknown))}")
    return [each for each in known if not names or each.name in names]


def search(mutation: Mutation, pool: Pool, count: int, seeds_max: int) -> list[Start]:
    """Plays seeds of all starts until each has found the mutation, or has played enough."""
    starts = [Start(number * BETWEEN_STARTS + 1) for number in range(count)]
    while left := [each for each in starts if not each.is_found and each.played < seeds_max]:
        # One seed of each start at a time: the pool is full, and no start waits for another.
        by_seed = {start.first + start.played: start for start in left}
        histories = (HistoryRequest(mutation.family, seed, mutation.name) for seed in by_seed)
        for played in pool.play(histories):
            start = by_seed[played.asked.seed]
            start.played += 1
            start.is_found = played.wrong is not None
            if start.is_found:
                start.wrong_seconds = played.seconds
            else:
                start.seconds += played.seconds
    return starts


def summary(mutation: Mutation, starts: list[Start]) -> dict[str, Any]:
    """Returns the figures of a mutation; a start that found nothing counts as endless."""
    seeds = median(start.played if start.is_found else math.inf for start in starts)
    return {
        "rule": mutation.rule,
        "family": mutation.family,
        "name": mutation.name,
        "starts": len(starts),
        "found": sum(start.is_found for start in starts),
        "median_seeds": None if seeds == math.inf else seeds,
        "seeds_max": max(start.played for start in starts),
        "virtual_hours": round(sum(start.seconds for start in starts) / 3600, 2),
        "wrong_virtual_hours": round(sum(start.wrong_seconds for start in starts) / 3600, 2),
    }


@click.command()
@click.argument("names", nargs=-1)
@click.option("--starts", "count", default=20, show_default=True)
@click.option("--seeds-max", default=SEEDS_MAX, show_default=True, help="Seeds of a start at most.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
def main(names: tuple[str, ...], count: int, seeds_max: int, jobs: int) -> None:
    """Play histories with a rule taken out until they are wrong."""
    for mutation in selected(names):
        with Pool(jobs) as pool:
            row = summary(mutation, search(mutation, pool, count, seeds_max))
        click.echo(f"{row}")
        write_results(with_mutation(read_results(), row))


if __name__ == "__main__":
    main()
