"""Histories of all families by seed, with the rules and without."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.world.families import FAMILIES
from tests.world.played import played
from tests.world.played_seeds import record_seeds
from tests.world.sinks.history import play as play_sinks
from tests.world.sinks.mutations import COMMITS, CROWDED

SEEDS = {
    "mirror": 2,
    "losses": 1,
    "compaction": 1,
    "ledgers": 1,
    "tails": 1,
    "zombies": 1,
    "ids": 1,
    "expiry": 1,
    "takeovers": 1,
    "groups": 1,
    "sinks": 1,
    "sink_rests": 1,
    "objects": 1,
    "claims": 5,
}
"""Seeds from 1 on that are played each time; `make soak` plays others for an hour."""
CHUNK = 5
MUTATION = "gaps are not awaited"
FOUND_AT = {
    ("mirror", "the entry is not read again"): 1,
    ("losses", "one lost offset is not named"): 1,
    ("ledgers", "published runs are not read"): 1,
    ("tails", "what cannot be known counts as not landed"): 2,
    ("zombies", "a new connection is not confirmed"): 1,
    ("expiry", "old batches in doubt are sent again"): 1,
    ("takeovers", "the entry is replaced under another id"): 2,
    ("groups", "a missing run raises an offset"): 1,
    ("sinks", "uncommitted parts count"): 1,
    ("sinks", "one replica is believed"): 2,
    ("sink_rests", "the store is not asked for rows"): 1,
    ("sinks", "dropped records are not read again"): 1,
    ("objects", "completed before the intent"): 1,
    ("claims", "the condition is not tried"): 5,
    ("claims", "a lost claim counts as won"): 1,
    ("objects", "who waits is not told of a failure"): 4,
}
"""Mutations with a seed that finds them; `python -m bench.mutations` looks for all."""


@pytest.mark.parametrize(
    ("family", "first"),
    [(family, first) for family, count in SEEDS.items() for first in range(1, count + 1, CHUNK)],
)
def test_whatever_fails_nothing_is_lost_repeated_or_wrongly_told(
    family: str, first: int, record_property: Callable[[str, object], None]
) -> None:
    found = played(family, first, min(CHUNK, SEEDS[family] + 1 - first))
    record_seeds(record_property, family, found.stdout)
    assert found.returncode == 0, found.stdout + found.stderr


def test_a_seed_plays_the_same_history_again() -> None:
    """Also one in which a rule is missing: it is short."""
    first, second = (played("mirror", 1, mutation=MUTATION) for _ in range(2))
    assert first.stdout == second.stdout
    assert first.stdout.startswith("seed 1: ")
    assert first.returncode == second.returncode == 1


@pytest.mark.parametrize(("family", "mutation", "seed"), [(*k, at) for k, at in FOUND_AT.items()])
def test_a_rule_that_is_taken_out_is_missed(family: str, mutation: str, seed: int) -> None:
    found = played(family, seed, mutation=mutation)
    assert found.returncode == 1, found.stderr
    assert found.stdout.startswith(f"seed {seed}: ")


def test_mutations_are_known_by_their_names() -> None:
    assert all(name in FAMILIES[family].mutations for family, name in FOUND_AT)


def test_without_a_quorum_rows_that_only_a_disk_has_are_not_taken_for_stored() -> None:
    assert play_sinks(1, COMMITS).records


def test_a_table_that_fills_its_partitions_and_stands_still_stops_no_other() -> None:
    assert play_sinks(2, CROWDED).records
