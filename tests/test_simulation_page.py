"""Page of the simulated cluster: its table is that of the results."""

from __future__ import annotations

from bench.simulation import kept
from bench.simulation_page import PAGE, with_table
from tests.world.families import FAMILIES


def test_the_table_of_mutations_is_that_of_the_results() -> None:
    page = PAGE.read_text()
    assert page == with_table(page, kept()["mutations"])


def test_what_is_in_the_table_is_a_mutation() -> None:
    known = {(key, name) for key, family in FAMILIES.items() for name in family.mutations}
    assert {(row["family"], row["name"]) for row in kept()["mutations"]} <= known
