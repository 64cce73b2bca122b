"""Histories of all families by seed, with the rules and without.

`python -m bench.seeds` chooses the seeds (seeds.json), and `python -m tests.world` plays one again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.world.families import FAMILIES, HistoryRequest
from tests.world.played import played
from tests.world.played_seeds import MissingRule, read_checked_seeds, record_seed
from tests.world.pool import Played, Pool
from tests.world.sinks.courses import COMMITS, MANY, MANY_RETURNS
from tests.world.sinks.history import play as play_sinks
from tests.world.sinks.scene import Course

SEEDS = read_checked_seeds()
MUTATION = "gaps are not awaited"


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """Process that has imported everything: each history is a fork of it."""
    with Pool(1) as pool:
        yield pool


def _played(pool: Pool, asked: HistoryRequest) -> Played:
    (found,) = pool.play([asked])
    return found


@pytest.mark.parametrize(
    ("family", "seed"),
    [(family, seed) for family, seeds in SEEDS.histories.items() for seed in seeds],
)
def test_whatever_fails_nothing_is_lost_repeated_or_wrongly_told(
    family: str, seed: int, pool: Pool, record_property: Callable[[str, object], None]
) -> None:
    found = _played(pool, HistoryRequest(family, seed))
    assert found.wrong is None, "\n".join([found.wrong or "", *found.log])
    record_seed(record_property, family, seed, found.seconds)


def test_a_seed_plays_the_same_history_again_in_whichever_process(pool: Pool) -> None:
    """Also one in which a rule is missing: it is short."""
    found = _played(pool, HistoryRequest("mirror", 1, MUTATION))
    again = played("mirror", 1, mutation=MUTATION)
    assert again.stdout.splitlines() == [found.wrong, *found.log]
    assert again.stdout.startswith("seed 1: ")
    assert again.returncode == 1


@pytest.mark.parametrize("missing", SEEDS.missing, ids=str)
def test_a_rule_that_is_taken_out_is_missed(missing: MissingRule, pool: Pool) -> None:
    found = _played(pool, HistoryRequest(missing.family, missing.seed, missing.mutation))
    assert found.wrong and found.wrong.startswith(f"seed {missing.seed}: ")


def test_families_and_mutations_are_known_by_their_names() -> None:
    assert SEEDS.histories.keys() <= FAMILIES.keys()
    assert all(each.mutation in FAMILIES[each.family].mutations for each in SEEDS.missing)


def test_without_a_quorum_rows_that_only_a_disk_has_are_not_taken_for_stored() -> None:
    assert play_sinks(1, COMMITS).records


@pytest.mark.parametrize("course", [MANY, MANY_RETURNS], ids=["for good", "for a while"])
def test_tables_that_fill_their_partitions_and_stand_still_stop_no_other(course: Course) -> None:
    assert play_sinks(1, course).records
