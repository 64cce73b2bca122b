"""Quality of the balancer's packings: distance from the optimum, number of moves, and speed.

    .venv/bin/python -m bench.packing [--seeds 1000]

Loads are planted, so that the optimum is known, or judged by the bounds and by each repair's own
certificate. Rival algorithms, reimplemented from their descriptions, pack the same loads. No server
is needed. All cases use one core except the repairs, which use all. Results go into
bench/results/balancer.json.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import click
import numpy as np

from balancer.packing.bounds import heaviest_at_least
from balancer.packing.count import fewest
from balancer.packing.fresh import packed
from balancer.packing.shares import UNPLACED, Carriers, Shares
from balancer.packing.sticky import repaired
from bench.balancer_file import keep
from bench.machine import load_average
from tests.balancer.packing.planted import (
    drifted,
    loads_of,
    lognormal,
    planted,
    triplets,
    uniform,
)
from tests.balancer.packing.rivals import count_sticky, load_based

ROUNDS = 5
SLACK = 0.05
ITEMS, CARRIERS = 100_000, 1_000
"""Size of the cases about moves."""


def speed(items: int, carriers: int) -> dict[str, object]:
    """Times whole plans of lognormal loads in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        seconds, mib = pool.apply(_packed, (items, carriers))
    return {
        "partitions": items,
        "carriers": carriers,
        "seconds": [round(each, 3) for each in seconds],
        "median seconds": round(median(seconds), 3),
        "peak MiB of the process": mib,
    }


def _packed(items: int, carriers: int) -> tuple[list[float], int]:
    shares = lognormal(items, 0)
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        packed(shares, np.zeros(carriers))
        took.append(time.perf_counter() - began)
    return took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def planted_optimum(each: int, carriers: int, seeds: int) -> dict[str, object]:
    """Packs planted loads; the heaviest carrier is given as a multiple of the optimum, which is
    1."""
    began = time.perf_counter()
    nothing = np.zeros(carriers)
    found = [packed(planted(carriers, each, seed), nothing).heaviest for seed in range(seeds)]
    return {
        "partitions per carrier": each,
        "carriers": carriers,
        "instances": seeds,
        "median": round(median(found), 6),
        "worst": round(max(found), 6),
        "seconds each": round((time.perf_counter() - began) / seeds, 2),
    }


def uniform_counts(seeds: int) -> dict[str, object]:
    """Counts carriers for Falkenauer's U type. Proved: the number found equals the lower bound."""
    found = [
        fewest(uniform(items, seed), 150)
        for items in (120, 250, 500, 1000)
        for seed in range(seeds)
    ]
    return {
        "instances": len(found),
        "proved optimum": sum(each.carriers == each.at_least for each in found),
        "one above the bound": sum(each.carriers == each.at_least + 1 for each in found),
    }


def triplet_counts(seeds: int) -> dict[str, object]:
    """Counts carriers for Falkenauer's T type, whose optimum is a third of the items."""
    sizes = (60, 120, 249, 501)
    over = [
        fewest(triplets(items, seed), 1000).carriers - items // 3
        for items in sizes
        for seed in range(seeds)
    ]
    return {"instances": len(over), "optimum": over.count(0), "optimum + 1": over.count(1)}


class Repaired(NamedTuple):
    """Repair of one drift. `has_giant`: one partition exceeds the mean load of a carrier."""

    moves: int
    certificate: int
    is_within: bool
    seconds: float
    has_giant: bool


def repairs(drift: float, seeds: int) -> dict[str, object]:
    """Compares the moves after a drift with the least that any plan within the limit needs.

    A partition above the mean load of a carrier sets the limit itself, and the certificate is then
    far too low. In a route such a partition is hot, and alone on its carrier (balancer/decision),
    so these cases are reported separately.
    """
    cores = multiprocessing.cpu_count()
    with multiprocessing.get_context("spawn").Pool(cores) as pool:
        found = pool.starmap(_repaired, [(drift, seed) for seed in range(seeds)], chunksize=10)
    return {
        "drift": drift,
        "seeds": seeds,
        "certificate zero": sum(not each.certificate for each in found),
        "of these with a move": sum(each.moves > 0 for each in found if not each.certificate),
        "not within the limit": sum(not each.is_within for each in found),
        "moves / certificate": _ratios([each for each in found if not each.has_giant]),
        "the same, with a partition above the mean": _ratios(
            [each for each in found if each.has_giant]
        ),
        "median seconds": round(median(each.seconds for each in found), 3),
    }


def _repaired(drift: float, seed: int) -> Repaired:
    shares = lognormal(ITEMS, seed)
    where = packed(shares, np.zeros(CARRIERS)).where
    later = drifted(shares, drift, seed)
    began = time.perf_counter()
    found = repaired(later, where, np.zeros(CARRIERS), SLACK)
    seconds = time.perf_counter() - began
    has_giant = bool(later.max() > later.mean() * ITEMS / CARRIERS)
    return Repaired(found.moves, found.certificate, found.is_within, seconds, has_giant)


def _ratios(found: Sequence[Repaired]) -> dict[str, float]:
    ratios = [each.moves / each.certificate for each in found if each.certificate]
    if not ratios:
        return {"drifts": 0}
    return {
        "drifts": len(ratios),
        "median": round(median(ratios), 3),
        "worst": round(max(ratios), 3),
    }


def jitter(rounds: int) -> dict[str, object]:
    """Counts moves while every share changes by up to 5 % in each round, relative to the first."""
    shares = lognormal(ITEMS, 0)
    where = packed(shares, np.zeros(CARRIERS)).where
    random = np.random.default_rng(5)
    moves = 0
    for _ in range(rounds):
        jittered = shares * random.uniform(0.95, 1.05, ITEMS)
        found = repaired(jittered, where, np.zeros(CARRIERS), SLACK)
        where, moves = found.where, moves + found.moves
    return {"rounds": rounds, "moves": moves}


def against_rivals() -> dict[str, object]:
    """Returns the heaviest carrier of each algorithm, as a multiple of the lower bound."""
    shares = lognormal(ITEMS, 1)
    nobody = np.full(ITEMS, UNPLACED)
    first: dict[str, Carriers] = {
        "sluice": packed(shares, np.zeros(CARRIERS)).where,
        "load-based": load_based(shares, nobody, CARRIERS),
        "count-sticky": count_sticky(nobody, CARRIERS),
    }
    later = drifted(shares, 0.3, 1)
    hot = np.full(CARRIERS // 5, later.sum() / CARRIERS / 2)
    more = np.append(later, hot)
    after: Mapping[str, Callable[[Shares, Carriers], Carriers]] = {
        "sluice": lambda now, where: repaired(now, where, np.zeros(CARRIERS), SLACK).where,
        "load-based": lambda now, where: load_based(now, where, CARRIERS),
        "count-sticky": lambda now, where: count_sticky(where, CARRIERS),
    }
    unplaced = np.full(len(hot), UNPLACED)
    return {
        name: {
            "fresh": _above(shares, where),
            "after a drift of 30 %": _above(later, after[name](later, where)),
            "and new hot ones": _above(more, after[name](more, np.append(where, unplaced))),
        }
        for name, where in first.items()
    }


def _above(shares: Shares, where: Carriers) -> float:
    heaviest = loads_of(shares, where, CARRIERS).max()
    return round(float(heaviest) / heaviest_at_least(shares, CARRIERS), 4)


@click.command()
@click.option("--seeds", default=1000, show_default=True, help="Of the cases about moves.")
def main(seeds: int) -> None:
    """Writes `packings` in bench/results/balancer.json."""
    cases: dict[str, Callable[[], Any]] = {
        "speed": lambda: [speed(100_000, 1_000), speed(1_000_000, 2_000)],
        "planted": lambda: [
            planted_optimum(each, carriers, 10)
            for each, carriers in ((100, 1_000), (20, 1_000), (5, 500), (3, 500), (3, 100))
        ],
        "uniform": lambda: uniform_counts(20),
        "triplets": lambda: triplet_counts(20),
        "jitter of 5 %": lambda: jitter(1_000),
        "rivals": against_rivals,
        "repairs": lambda: [repairs(drift, seeds) for drift in (0.1, 0.3)],
    }
    busy = load_average()
    results: dict[str, Any] = {}
    for name, case in cases.items():
        began = time.perf_counter()
        results[name] = case()
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    keep("packings", results, busy)


if __name__ == "__main__":
    main()
