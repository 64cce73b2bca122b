"""Seeds that `make check` plays: as few histories as find the most mutations.

    .venv/bin/python -m bench.seeds [--seeds 8] [--minutes 10] [--jobs 2] [--resume]

Plays the first seeds of each family with each of its mutations, and takes down which seeds find
them. A mutation is searched until one seed has found all of its family, or all seeds are played.
Each history is then as short as finds the same mutations: what a seed plays up to a moment does not
depend on when its load and faults end. Histories are chosen greedily, by mutations found per CPU
second. Each mutation of a shortened one is played again, and the history is whole if that is
right. What the chosen ones take is measured, and they are written into tests/world/seeds.json. What
was found goes into bench/results/seeds.json, from which docs/simulation.md has its figures
(`bench.simulation_page`).

The search begins no history after --minutes; playing again and measuring take about three minutes
more on two cores. --resume goes on from the results of the last run, whose code has to be the same.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import click

from bench.machine import described, load_average
from bench.mutations import Mutation, mutations
from tests.world.families import FAMILIES, HistoryRequest
from tests.world.played_seeds import (
    CheckedHistory,
    CheckedSeeds,
    MissingRule,
    write_checked_seeds,
)
from tests.world.pool import Played, Pool

FILE = Path(__file__).parent / "results" / "seeds.json"
BUDGET_SECONDS = 227.0
"""CPU seconds of the histories of `make check`, as measured beside other work on two cores, where
they take up to 1.5 times as many as alone."""
LEAST_SHARE = 0.25
"""Least share of a course that is played, however soon its mutations are found."""
LEAST_WAITS = 2.0
"""Least length of a history, in times that a record may wait while there is load: only records that
are older than that are looked at."""
MISSING_SECONDS = 8.0
"""CPU seconds of its histories in which a rule is missing."""
ALWAYS = ("objects", "compaction")
"""Families without a mutation of their own whose first seed is played all the same, as a whole."""

History = tuple[str, int]
"""Family and seed."""
Rule = tuple[str, str]
"""Family and name of a mutation."""


class Found(NamedTuple):
    """History that was wrong.

    Args:
        cpu_seconds: that it took.
        seconds: virtual time at which it was wrong; the whole course's, if load and faults that
            end right behind that moment do not make it wrong.
    """

    cpu_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a history in which no rule is missing.

    Args:
        load_seconds: virtual time with load and faults.
        virtual_seconds: virtual time with what came after these.
    """

    load_seconds: float
    cpu_seconds: float
    virtual_seconds: float


@dataclass(slots=True)
class Search:
    """Results of a search, as they are in the file.

    Args:
        found: histories that were wrong, by seed, for each mutation.
        missed: seeds that did not find the mutation.
        costs: of histories in which no rule is missing.
    """

    found: dict[Rule, dict[int, Found]] = field(default_factory=dict)
    missed: dict[Rule, list[int]] = field(default_factory=dict)
    costs: dict[History, Cost] = field(default_factory=dict)

    def take(self, played: Played) -> None:
        """Takes the result of a history down."""
        asked = played.asked
        if asked.mutation is None:
            assert asked.seconds is not None
            cost = Cost(asked.seconds, round(played.cpu_seconds, 2), round(played.seconds, 1))
            self.costs[asked.family, asked.seed] = cost
            return
        rule = asked.family, asked.mutation
        found, missed = self.found.setdefault(rule, {}), self.missed.setdefault(rule, [])
        if played.wrong is None:
            missed.append(asked.seed)
        else:
            found[asked.seed] = Found(round(played.cpu_seconds, 2), round(played.seconds, 1))

    def has_played(self, rule: Rule, seed: int) -> bool:
        """Returns True if a seed was played with a mutation."""
        return seed in self.found.get(rule, {}) or seed in self.missed.get(rule, [])

    def searched(self) -> set[Rule]:
        """Returns the mutations with which a seed was played."""
        return {rule for rule, found in self.found.items() if found or self.missed[rule]}

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
                {"family": family, "seed": seed, **asdict(cost)}
                for (family, seed), cost in sorted(self.costs.items())
            ],
        }

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Search:
        """Returns the results that are in the file."""
        search = cls()
        for each in stored["mutations"]:
            rule = each["family"], each["name"]
            search.found[rule] = {int(seed): Found(*it) for seed, it in each["found"].items()}
            search.missed[rule] = each["missed"]
        for each in stored["histories"]:
            history = each.pop("family"), each.pop("seed")
            search.costs[history] = Cost(**each)
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


def load_seconds(histories: Iterable[History], search: Search) -> dict[History, float]:
    """Returns the virtual time with load and faults that each history needs.

    What is found only once all is mended needs the whole course.
    """
    needed = {history: _least_seconds(history[0]) for history in histories}
    for (family, name), seed in first_finders(needed, search).items():
        # A whole second behind the moment, which is rounded.
        behind = math.floor(search.found[family, name][seed].seconds) + 1
        needed[family, seed] = max(needed[family, seed], behind)
    return {
        each: min(FAMILIES[each[0]].seconds, float(math.ceil(it))) for each, it in needed.items()
    }


def _least_seconds(family: str) -> float:
    """Returns the least virtual time with load and faults of a family's histories."""
    whole = FAMILIES[family].seconds
    share = whole if family in ALWAYS else LEAST_SHARE * whole
    return max(share, LEAST_WAITS * FAMILIES[family].wait_seconds)


def first_finders(histories: Collection[History], search: Search) -> dict[Rule, int]:
    """Returns the seed that finds each mutation first: the others need not find it."""
    found = {}
    for (family, name), seeds in search.found.items():
        moments = [(it.seconds, seed) for seed, it in seeds.items() if (family, seed) in histories]
        if moments:
            _, found[family, name] = min(moments)
    return found


def missing_rules(search: Search, budget_seconds: float) -> list[MissingRule]:
    """Returns the cheapest mutation of each family with a seed that finds it, for a budget."""
    cheapest: dict[str, tuple[float, MissingRule]] = {}
    for (family, name), seeds in search.found.items():
        for seed, wrong in seeds.items():
            here = wrong.cpu_seconds, MissingRule(family, name, seed)
            if family not in cheapest or here < cheapest[family]:
                cheapest[family] = here
    found, spent = [], 0.0
    for seconds, missing in sorted(cheapest.values()):
        spent += seconds
        if spent <= budget_seconds:
            found.append(missing)
    return sorted(found)


def found_by(histories: Iterable[History], search: Search) -> set[Rule]:
    """Returns the mutations that some histories find together."""
    rules = search.rules_by_history()
    return {rule for history in histories for rule in rules.get(history, ())}


def measured(search: Search, pool: Pool, budget_seconds: float) -> list[History]:
    """Returns the chosen histories once the cost of each of them was measured.

    A history that was not measured yet counts as much as the first seed of its family. Where the
    chosen ones turn out to take more than the budget, as their lengths depend on each other, it is
    chosen again.
    """
    rules = search.rules_by_history()
    always = [(family, 1) for family in ALWAYS]
    first = {*always, *((family, 1) for family, _ in rules)} - search.costs.keys()
    _measure(search, pool, load_seconds(first, search))
    confirmed: set[HistoryRequest] = set()
    allowed = budget_seconds
    while True:
        known = {key: search.costs.get(key, search.costs[key[0], 1]) for key in rules}
        costs = {key: it.cpu_seconds for key, it in known.items()}
        left = allowed - sum(search.costs[key].cpu_seconds for key in always)
        found = [*always, *chosen(rules, costs, left)]
        if unknown := {*found} - search.costs.keys():
            _measure(search, pool, load_seconds(unknown, search))
            continue
        seconds = confirmed_seconds(found, search, pool, confirmed)
        stale = {key for key in found if search.costs[key].load_seconds != seconds[key]}
        _measure(search, pool, {key: seconds[key] for key in stale})
        if sum(search.costs[key].cpu_seconds for key in found) <= budget_seconds:
            return sorted(found)
        allowed -= 0.1  # so that it ends, whatever the lengths are in turn


def confirmed_seconds(
    histories: Collection[History], search: Search, pool: Pool, confirmed: set[HistoryRequest]
) -> dict[History, float]:
    """Returns the virtual time with load and faults with which each history is wrong without the
    rules that are left to it.

    Args:
        confirmed: histories that were played for that; more are added.
    """
    while True:
        seconds = load_seconds(histories, search)
        short = {
            HistoryRequest(family, seed, name, seconds=seconds[family, seed])
            for (family, name), seed in first_finders(histories, search).items()
            if seconds[family, seed] < FAMILIES[family].seconds
        }
        if short <= confirmed:
            return seconds
        for played in pool.play(sorted(short - confirmed, key=str)):
            asked = played.asked
            if played.wrong is None:
                click.echo(f"{asked.family} {asked.seed} is whole for: {asked.mutation}")
                found = search.found[asked.family, asked.mutation or ""]
                whole = FAMILIES[asked.family].seconds
                found[asked.seed] = found[asked.seed]._replace(seconds=whole)
            confirmed.add(asked)


def _measure(search: Search, pool: Pool, seconds: Mapping[History, float]) -> None:
    """Plays histories with load and faults for some time each, and takes down what they cost."""
    wanted = (HistoryRequest(*each, seconds=seconds[each]) for each in sorted(seconds))
    for played in pool.play(wanted):
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
    histories = [CheckedHistory(*each, search.costs[each].load_seconds) for each in taken]
    write_checked_seeds(CheckedSeeds(histories, missing_rules(search, MISSING_SECONDS)))
    found = found_by(taken, search)
    seconds = sum(search.costs[each].cpu_seconds for each in taken)
    click.echo(
        f"{len(taken)} histories of {seconds:.0f} CPU s find {len(found)} of {len(known)} "
        f"mutations; some seed finds {sum(map(bool, search.found.values()))}"
    )


def _write(search: Search, seeds: int, load: float) -> None:
    head = {"machine": described(), "load_before": load, "seeds": seeds}
    FILE.write_text(json.dumps({**head, **search.to_json()}, indent=2) + "\n")


if __name__ == "__main__":
    main()
