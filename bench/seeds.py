"""Seeds that `make check` plays: as few histories as find the most mutations.

    .venv/bin/python -m bench.seeds [--seeds 8] [--minutes 10] [--jobs 2] [--resume]

Plays the first seeds of each family with each of its mutations, and takes down which seeds find
them. A mutation is searched until one seed has found all of its family, or all seeds are played.
Then it chooses histories greedily, by mutations found per CPU second, measures what the chosen
ones take, and writes them into tests/world/seeds.json. What it found goes into
bench/results/seeds.json, from which docs/simulation.md has its figures (`bench.simulation_page`).

The search begins no history after --minutes, and measuring takes about three minutes more on two
cores. --resume goes on from the results of the last run, whose code has to be the same.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from bench.machine import described, load_average
from bench.mutations import Mutation, mutations
from tests.world.families import HistoryRequest
from tests.world.played_seeds import CheckedSeeds, MissingRule, write_checked_seeds
from tests.world.pool import Played, Pool

FILE = Path(__file__).parent / "results" / "seeds.json"
BUDGET_SECONDS = 400.0
"""CPU seconds of the histories of `make check`, as measured beside other work at loads of 5 to 14
on two cores, where they take up to 1.23 times as many as alone. Before there was a choice, 29
processes took 260 s for 33 histories of fewer families, with less load. A third was their start."""
MISSING_SECONDS = 8.0
"""CPU seconds of its histories in which a rule is missing."""
ALWAYS = ("objects", "compaction")
"""Families without a mutation of their own whose first seed is played all the same."""

History = tuple[str, int]
"""Family and seed."""
Rule = tuple[str, str]
"""Family and name of a mutation."""


@dataclass(slots=True)
class Search:
    """Results of a search, as they are in the file.

    Args:
        found: CPU seconds of each history that was wrong, by seed, for each mutation.
        missed: seeds that did not find the mutation.
        cpu_seconds: of each history in which no rule is missing.
        virtual_seconds: of the same.
    """

    found: dict[Rule, dict[int, float]] = field(default_factory=dict)
    missed: dict[Rule, list[int]] = field(default_factory=dict)
    cpu_seconds: dict[History, float] = field(default_factory=dict)
    virtual_seconds: dict[History, float] = field(default_factory=dict)

    def take(self, played: Played) -> None:
        """Takes the result of a history down."""
        asked = played.asked
        if asked.mutation is None:
            key = asked.family, asked.seed
            self.cpu_seconds[key] = round(played.cpu_seconds, 2)
            self.virtual_seconds[key] = round(played.seconds, 1)
            return
        rule = asked.family, asked.mutation
        found, missed = self.found.setdefault(rule, {}), self.missed.setdefault(rule, [])
        if played.wrong is None:
            missed.append(asked.seed)
        else:
            found[asked.seed] = round(played.cpu_seconds, 2)

    def has_played(self, rule: Rule, seed: int) -> bool:
        """Returns True if a seed was played with a mutation."""
        return seed in self.found.get(rule, {}) or seed in self.missed.get(rule, [])

    def rules_by_history(self) -> dict[History, set[Rule]]:
        """Returns the mutations that each history finds."""
        rules = defaultdict(set)
        for (family, name), seeds in self.found.items():
            for seed in seeds:
                rules[family, seed].add((family, name))
        return rules

    def to_json(self) -> dict[str, Any]:
        """Returns the results as they are in the file."""
        return {
            "mutations": [
                {"family": rule[0], "name": rule[1], "found": found, "missed": self.missed[rule]}
                for rule, found in sorted(self.found.items())
            ],
            "histories": [
                {
                    "family": key[0],
                    "seed": key[1],
                    "cpu_seconds": seconds,
                    "virtual_seconds": self.virtual_seconds[key],
                }
                for key, seconds in sorted(self.cpu_seconds.items())
            ],
        }

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Search:
        """Returns the results that are in the file."""
        search = cls()
        for each in stored["mutations"]:
            rule = each["family"], each["name"]
            search.found[rule] = {int(seed): taken for seed, taken in each["found"].items()}
            search.missed[rule] = each["missed"]
        for each in stored["histories"]:
            key = each["family"], each["seed"]
            search.cpu_seconds[key] = each["cpu_seconds"]
            search.virtual_seconds[key] = each["virtual_seconds"]
        return search


def read_search() -> Search:
    """Returns the results of the last search."""
    return Search.of_json(json.loads(FILE.read_text()))


def candidates(
    search: Search, known: list[Mutation], seeds: int, give_up_at: float
) -> Iterator[HistoryRequest]:
    """Yields histories of all families, seed by seed, until a time of the clock.

    A family is left once one of its seeds has found all of its mutations: no second one is needed.
    """
    by_family: dict[str, list[str]] = defaultdict(list)
    for each in known:
        by_family[each.family].append(each.name)
    for seed in range(1, seeds + 1):
        for family, names in by_family.items():
            whole = {(family, name) for name in names}
            if any(search.rules_by_history()[family, it] >= whole for it in range(1, seed)):
                continue
            for name in names:
                if time.monotonic() >= give_up_at:
                    return
                if not search.has_played((family, name), seed):
                    yield HistoryRequest(family, seed, name)


def chosen(
    rules: Mapping[History, Set[Rule]], cost: Mapping[History, float], budget_seconds: float
) -> list[History]:
    """Returns histories that find as many mutations as the budget allows.

    Args:
        rules: mutations that each history finds.
        cost: CPU seconds of each history.
    """
    taken: list[History] = []
    left, spent = {rule for found in rules.values() for rule in found}, 0.0
    while True:
        gains = {
            each: len(found & left) / cost[each]
            for each, found in rules.items()
            if found & left and spent + cost[each] <= budget_seconds
        }
        if not gains:
            return sorted(taken)
        best = max(gains, key=lambda each: (gains[each], each))
        taken.append(best)
        left, spent = left - rules[best], spent + cost[best]


def missing_rules(search: Search, budget_seconds: float) -> list[MissingRule]:
    """Returns the cheapest mutation of each family with a seed that finds it, for a budget."""
    cheapest: dict[str, tuple[float, MissingRule]] = {}
    for (family, name), seeds in search.found.items():
        for seed, seconds in seeds.items():
            here = seconds, MissingRule(family, name, seed)
            if family not in cheapest or here < cheapest[family]:
                cheapest[family] = here
    found, spent = [], 0.0
    for seconds, missing in sorted(cheapest.values()):
        spent += seconds
        if spent <= budget_seconds:
            found.append(missing)
    return sorted(found)


def found_by(histories: Mapping[str, Sequence[int]], search: Search) -> set[Rule]:
    """Returns the mutations that some histories find, by family."""
    rules = search.rules_by_history()
    return {
        rule
        for family, seeds in histories.items()
        for seed in seeds
        for rule in rules.get((family, seed), ())
    }


def measured(search: Search, pool: Pool, budget_seconds: float) -> list[History]:
    """Returns the chosen histories once the cost of each of them was measured.

    A history that was not measured yet counts as much as the first seed of its family.
    """
    rules = search.rules_by_history()
    always = [(family, 1) for family in ALWAYS]
    _measure(search, pool, {*always, *((family, 1) for family, _ in rules)})
    while True:
        cost = {key: search.cpu_seconds.get(key, search.cpu_seconds[key[0], 1]) for key in rules}
        left = budget_seconds - sum(search.cpu_seconds[key] for key in always)
        found = chosen(rules, cost, left)
        if unknown := {*found} - search.cpu_seconds.keys():
            _measure(search, pool, unknown)
        else:
            return sorted([*always, *found])


def _measure(search: Search, pool: Pool, histories: Set[History]) -> None:
    wanted = sorted(histories - search.cpu_seconds.keys())
    for played in pool.play(HistoryRequest(*each) for each in wanted):
        if played.wrong:
            click.echo(f"{played.asked.family} is wrong without a mutation: {played.wrong}")
            sys.exit(1)
        search.take(played)


@click.command()
@click.option("--seeds", default=8, show_default=True, help="Seeds of each family at most.")
@click.option("--minutes", default=10.0, show_default=True, help="How long histories are begun.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
@click.option("--resume", is_flag=True, help="Go on from the results of the last run.")
def main(seeds: int, minutes: float, jobs: int, resume: bool) -> None:
    """Choose the seeds that `make check` plays, by what they find."""
    search, known, load = read_search() if resume else Search(), mutations(), load_average()
    give_up_at = time.monotonic() + 60 * minutes
    with Pool(jobs) as pool:
        for played in pool.play(candidates(search, known, seeds, give_up_at)):
            search.take(played)
            _write(search, seeds, load)
        taken = measured(search, pool, BUDGET_SECONDS)
    _write(search, seeds, load)
    by_family: dict[str, list[int]] = defaultdict(list)
    for family, seed in taken:
        by_family[family].append(seed)
    write_checked_seeds(CheckedSeeds(by_family, missing_rules(search, MISSING_SECONDS)))
    found = found_by(by_family, search)
    seconds = sum(search.cpu_seconds[each] for each in taken)
    click.echo(
        f"{len(taken)} histories of {seconds:.0f} CPU s find {len(found)} of {len(known)} "
        f"mutations; some seed finds {sum(map(bool, search.found.values()))}"
    )


def _write(search: Search, seeds: int, load: float) -> None:
    head = {"machine": described(), "load_before": load, "seeds": seeds}
    FILE.write_text(json.dumps({**head, **search.to_json()}, indent=2) + "\n")


if __name__ == "__main__":
    main()
