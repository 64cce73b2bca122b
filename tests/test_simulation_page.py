"""Page of the simulated cluster: its figures are those of the results."""

from __future__ import annotations

from bench.mutations import Mutation, mutations
from bench.simulation_page import PAGE, unmeasured, with_results
from bench.simulation_results import read_results
from tests.world.families import FAMILIES

RESULTS = read_results()


def test_the_page_says_what_the_results_say() -> None:
    page = PAGE.read_text()
    assert page == with_results(page, RESULTS, mutations())


def test_what_is_in_the_table_is_a_mutation() -> None:
    known = {(each.family, each.name) for each in mutations()}
    assert {(row["family"], row["name"]) for row in RESULTS["mutations"]} <= known


def test_every_family_is_named() -> None:
    page = PAGE.read_text()
    assert [name for name in FAMILIES if f"`{name}`" not in page] == []


def test_a_mutation_that_was_not_measured_is_named_with_its_rule() -> None:
    found = unmeasured([{"family": "mirror", "name": "a"}], [Mutation(1, "a", "mirror")])
    assert found == ""
    found = unmeasured([], [Mutation(18, "a", "groups")])
    assert "- rule 18, `groups`: a\n" in found
