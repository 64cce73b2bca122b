"""Seeds that `make check` plays: chosen by what they find, from the results of `bench.seeds`."""

from __future__ import annotations

from bench.mutations import mutations
from bench.seeds import (
    BUDGET_SECONDS,
    LEAST_SHARE,
    Found,
    Search,
    candidates,
    chosen,
    found_by,
    load_seconds,
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
    assert len(found) >= FOUND_SHARE * len(SEARCH.found)


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
    assert load_seconds(seeds[1:], Search({("tails", "x"): found})) == {seeds[1]: 30}
    late = Search({("tails", "x"): {1: Found(1.0, 9 * whole)}})
    assert load_seconds(seeds[:1], late) == {seeds[0]: whole}
