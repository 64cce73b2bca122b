"""Histories of all families by seed, with the rules and without.

`python -m bench.seeds` chooses the seeds (seeds.json), and `python -m tests.world` plays one again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.world.families import FAMILIES, HistoryRequest
from tests.world.played import played
from tests.world.played_seeds import (
    CheckedHistory,
    MissingRule,
    read_checked_seeds,
    record_seed,
)
from tests.world.pool import Played, Pool

SEEDS = read_checked_seeds()
MUTATION = "the entry is not read again"


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """Process that has imported everything: each history is a fork of it."""
    with Pool(1) as pool:
        yield pool


def _played(pool: Pool, asked: HistoryRequest) -> Played:
    (found,) = pool.play([asked])
    return found


@pytest.mark.parametrize(
    "history", SEEDS.histories, ids=[f"{family}-{seed}" for family, seed in SEEDS.seeds]
)
def test_whatever_fails_nothing_is_lost_repeated_or_wrongly_told(
    history: CheckedHistory, pool: Pool, record_property: Callable[[str, object], None]
) -> None:
    family, seed, seconds = history
    found = _played(pool, HistoryRequest(family, seed, seconds=seconds))
    words = f"python -m tests.world {family} {seed} --seconds {seconds}"
    assert found.wrong is None, "\n".join([words, found.wrong or "", *found.log])
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
    assert {it.family for it in SEEDS.histories} <= FAMILIES.keys()
    assert all(each.mutation in FAMILIES[each.family].mutations for each in SEEDS.missing)
