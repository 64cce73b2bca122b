"""Seeds that `make check` plays: chosen by what they find, from the results of `bench.seeds`."""

from __future__ import annotations

import math

from bench.mutations import mutations
from bench.seeds import (
    ALWAYS,
    BUDGET_SECONDS,
    LEAST_SHARE,
    Cost,
    Found,
    Search,
    candidates,
    chosen,
    confirmed_seconds,
    found_by,
    load_seconds,
    measured,
    missing_rules,
    read_search,
)
from tests.world.families import FAMILIES, HistoryRequest
from tests.world.played_seeds import MissingRule, read_checked_seeds
from tests.world.pool import Played

SEARCH, CHECKED = read_search(), read_checked_seeds()
FOUND_SHARE = 0.9
"""Least share of the mutations that were searched which `make check` finds."""


def result(family: str, seed: int, name: str, wrong: str | None = "lost") -> Played:
    return Played(HistoryRequest(family, seed, name), cpu_seconds=1.0, wrong=wrong)


def test_nine_in_ten_mutations_are_found_by_what_make_check_plays():
    found = found_by(CHECKED.seeds, SEARCH)
    assert len(found) >= FOUND_SHARE * len(SEARCH.searched())


def test_it_takes_no_longer_than_its_budget():
    assert sum(SEARCH.costs[each].cpu_seconds for each in CHECKED.seeds) <= BUDGET_SECONDS


def test_each_history_is_as_long_as_it_takes_to_find_its_mutations():
    seconds = load_seconds(CHECKED.seeds, SEARCH)
    assert {(it.family, it.seed): it.seconds for it in CHECKED.histories} == seconds
    assert {each: SEARCH.costs[each].load_seconds for each in CHECKED.seeds} == seconds


def test_what_was_searched_is_a_mutation():
    assert SEARCH.found.keys() <= {(each.family, each.name) for each in mutations()}


def test_the_histories_without_a_rule_are_among_those_that_were_found_wrong():
    assert all(it.seed in SEARCH.found[it.family, it.mutation] for it in CHECKED.missing)
    assert CHECKED.missing


def test_families_of_the_list_exist():
    assert {family for family, _ in CHECKED.seeds} <= FAMILIES.keys()


def test_results_are_read_as_they_were_written():
    assert Search.of_json(SEARCH.to_json()) == SEARCH


def test_histories_are_chosen_by_what_they_find_in_a_second():
    rules = {
        ("a", 1): {("a", "x"), ("a", "y")},
        ("a", 2): {("a", "x"), ("a", "y"), ("a", "z")},
        ("b", 1): {("b", "x")},
        ("b", 2): {("b", "x")},
        ("c", 1): {("c", "x")},
    }
    cost = {("a", 1): 1.0, ("a", 2): 9.0, ("b", 1): 2.0, ("b", 2): 1.0, ("c", 1): 100.0}
    assert chosen(rules, cost, 20.0) == [("a", 1), ("a", 2), ("b", 2)]
    assert chosen(rules, cost, 5.0) == [("a", 1), ("b", 2)]
    assert chosen(rules, cost, 0.5) == []


def test_a_family_is_searched_until_one_seed_has_found_all_of_its_mutations():
    known = [each for each in mutations() if each.family in ("tails", "object_names")]
    of_tails = [each.name for each in known if each.family == "tails"]
    search, asked = Search(), []
    for history in candidates(search, known, 3, float("inf")):
        asked.append((history.family, history.seed))
        is_missed = history.seed == 1 and history.mutation == of_tails[0]
        text = None if is_missed else "lost"
        search.take(result(history.family, history.seed, history.mutation or "", text))
    count = len(of_tails)
    assert asked.count(("tails", 1)) == asked.count(("tails", 2)) == count
    assert ("tails", 3) not in asked and ("object_names", 2) not in asked


def test_each_family_shows_its_cheapest_missing_rule_as_far_as_the_budget_goes():
    search = Search(
        {
            ("a", "x"): {2: Found(3.0, 1.0), 4: Found(1.0, 1.0)},
            ("a", "y"): {1: Found(2.0, 1.0)},
            ("b", "x"): {1: Found(5.0, 1.0)},
        }
    )
    assert missing_rules(search, 5.0) == [MissingRule("a", "x", 4)]
    assert missing_rules(search, 6.0) == [MissingRule("a", "x", 4), MissingRule("b", "x", 1)]


def test_each_mutation_is_left_to_the_history_that_finds_it_first():
    whole, seeds = FAMILIES["tails"].seconds, [("tails", 1), ("tails", 2)]
    found = {1: Found(1.0, 20.3), 2: Found(1.0, 30.0)}
    least = LEAST_SHARE * whole
    assert load_seconds(seeds, Search({("tails", "x"): found})) == {seeds[0]: 21, seeds[1]: least}
    late = Search({("tails", "x"): {1: Found(1.0, 9 * whole)}})
    assert load_seconds(seeds[:1], late) == {seeds[0]: whole}


def test_load_ends_behind_the_moment_at_which_a_mutation_is_found():
    """It is rounded: 29.96 s and 30.04 s are both 30.0 s."""
    search = Search({("tails", "x"): {2: Found(1.0, 30.0)}})
    assert load_seconds([("tails", 2)], search) == {("tails", 2): 31}


def test_a_history_lasts_twice_as_long_as_a_record_may_wait_in_it():
    seconds = load_seconds([("sink_stalls", 1), ("sink_many_stalls", 1)], Search())
    assert seconds == {("sink_stalls", 1): 24, ("sink_many_stalls", 1): 45}


def test_a_mutation_without_a_played_seed_was_not_searched():
    unplayed, missed = ("tails", "x"), ("tails", "y")
    search = Search({unplayed: {}, missed: {}}, {unplayed: [], missed: [1]})
    assert search.searched() == {missed}


class Table:
    """Pool in which a mutation is found by histories of some seconds at least.

    Args:
        needed: these seconds, by name; without a mutation none is wrong.
    """

    def __init__(self, **needed: float) -> None:
        self.needed, self.asked = needed, []

    def play(self, histories):
        for each in histories:
            self.asked.append((each.mutation, each.seed, each.seconds))
            needed = self.needed.get(each.mutation, math.inf)
            yield Played(each, cpu_seconds=1.0, wrong="lost" if each.seconds >= needed else None)


def test_a_history_is_whole_where_a_shorter_one_does_not_find_what_is_left_to_it():
    whole, history = FAMILIES["tails"].seconds, ("tails", 1)
    found = {("tails", name): {1: Found(1.0, 20.3)} for name in "xy"}
    search, pool = Search(found), Table(x=21, y=50)
    assert confirmed_seconds([history], search, pool, set()) == {history: whole}
    assert sorted(pool.asked) == [("x", 1, 21), ("y", 1, 21)]
    assert load_seconds([history], search) == {history: whole}


def test_what_a_shorter_history_does_not_find_is_left_to_another_one():
    histories = [("tails", 1), ("tails", 2)]
    search = Search({("tails", "x"): {1: Found(1.0, 20.3), 2: Found(1.0, 25.0)}})
    least = LEAST_SHARE * FAMILIES["tails"].seconds
    seconds = confirmed_seconds(histories, search, Table(x=26), set())
    assert seconds == {histories[0]: least, histories[1]: 26}


def test_a_history_that_is_measured_again_gets_no_mutation_that_another_one_finds_first():
    search = Search(
        {
            ("tails", "x"): {1: Found(1.0, 20.3), 2: Found(1.0, 30.0)},
            ("tails", "y"): {2: Found(1.0, 25.0)},
        },
        costs={
            ("tails", 1): Cost(21.0, 1.0, 30.0),
            ("tails", 2): Cost(60.0, 100.0, 70.0),
            **{(family, 1): Cost(FAMILIES[family].seconds, 1.0, 60.0) for family in ALWAYS},
        },
    )
    measured(search, Table(x=0, y=0), 200.0)
    assert search.costs["tails", 2].load_seconds == 26


def test_histories_that_turn_out_to_be_too_long_for_the_budget_make_room():
    """A longer history of the first family takes 1 s, which is too much beside the others."""
    search = Search(
        {("tails", "x"): {1: Found(1.0, 20.3)}, ("zombies", "y"): {1: Found(1.0, 30.0)}},
        costs={
            ("tails", 1): Cost(20.0, 0.1, 30.0),
            ("zombies", 1): Cost(31.0, 0.8, 40.0),
            **{(family, 1): Cost(FAMILIES[family].seconds, 1.0, 60.0) for family in ALWAYS},
        },
    )
    always = [(family, 1) for family in ALWAYS]
    assert measured(search, Table(x=0, y=0), 3.5) == sorted([*always, ("zombies", 1)])
