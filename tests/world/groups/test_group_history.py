"""Histories of groups in two regions, by seed, with and without their rules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
SEEDS = 4
FOUND_AT = {
    "a copy takes what does not continue it": 1,
    "a missing run raises an offset": 1,
    "a missing run counts as read": 1,
    "the highest offset decides": 1,
    "a record without a run is skipped": 1,
    "the record at the vector is skipped": 2,
}
"""Mutations with the first seed that finds them."""


def played(first: int, count: int, *mutation: str) -> subprocess.CompletedProcess[str]:
    """Plays histories in a process of their own, in which sets have the same order each time."""
    words = [sys.executable, "-m", "tests.world.groups", str(first), str(count), *mutation]
    return subprocess.run(
        words,
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_no_plan_skips_a_record_and_with_all_known_each_is_the_best(seed: int) -> None:
    found = played(seed, 1)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(("mutation", "seed"), FOUND_AT.items())
def test_a_rule_that_is_taken_out_is_missed(mutation: str, seed: int) -> None:
    found = played(seed, 1, mutation)
    assert found.returncode == 1
    assert found.stdout.startswith(f"seed {seed}: ")
