"""Histories of the mirror in a world, by seed, with and without its rules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
SEEDS, CHUNK = 12, 3
FOUND_AT = {
    "the entry is replaced under another id": 1,
    "gaps are not awaited": 1,
    "newer leader epochs are not awaited": 6,
}
"""Mutations with the first seed that finds them."""


def played(first: int, count: int, *mutation: str) -> subprocess.CompletedProcess[str]:
    """Plays histories in a process of their own, in which sets have the same order each time."""
    words = [sys.executable, "-m", "tests.world", str(first), str(count), *mutation]
    return subprocess.run(
        words,
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("first", range(1, SEEDS + 1, CHUNK))
def test_whatever_fails_each_record_arrives_once_and_in_order(first: int) -> None:
    found = played(first, CHUNK)
    assert found.returncode == 0, found.stdout


def test_a_seed_plays_the_same_history_again() -> None:
    first, second = played(7, 1).stdout, played(7, 1).stdout
    assert first == second
    assert first.startswith("seed 7: ")


@pytest.mark.parametrize(("mutation", "seed"), FOUND_AT.items())
def test_a_rule_that_is_taken_out_is_missed(mutation: str, seed: int) -> None:
    found = played(seed, 1, mutation)
    assert found.returncode == 1
    assert f"seed {seed}: orders-" in found.stdout
