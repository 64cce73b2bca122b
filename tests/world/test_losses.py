"""Histories in which logs lose records: what was lost is named, and nothing else is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.world.loss_mutations import LOSS_MUTATIONS

CHECKOUT = Path(__file__).parents[2]
SEEDS, FOUND_WITHIN = 4, 12


def played(count: int, *mutation: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "tests.world", "1", str(count), *mutation, "--loses"]
    return subprocess.run(
        words,
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )


def test_what_logs_lose_is_named_and_nothing_else_is_missing() -> None:
    found = played(SEEDS)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("mutation", [it.name for it in LOSS_MUTATIONS])
def test_a_loss_that_is_passed_over_or_named_wrongly_is_found(mutation: str) -> None:
    found = played(FOUND_WITHIN, mutation)
    assert found.returncode == 1
    assert "orders-" in found.stdout
