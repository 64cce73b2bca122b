"""Clocks, and the pauses between attempts."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from replicator.runtime import clock
from replicator.runtime.backoff import Backoff

# -- Clocks that are defaults tell the time of now, also where another one is put in place.

PACKAGES = ("balancer", "replicator", "aggregator")
CLOCKS = frozenset(["monotonic", "time", "time_ns", "sleep"])
ROOT = Path(__file__).parents[3]


def kept(tree: ast.AST) -> Iterator[ast.expr]:
    """Yields what a module keeps from its loading on: defaults of arguments and of fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            yield from filter(None, [*node.defaults, *node.kw_defaults])
        elif isinstance(node, ast.keyword) and node.arg == "default_factory":
            yield node.value
        elif isinstance(node, ast.ClassDef):
            yield from (it.value for it in node.body if isinstance(it, ast.AnnAssign) and it.value)


def test_a_clock_that_is_a_default_follows_the_one_of_now(monkeypatch):
    slept = []
    monkeypatch.setattr(time, "monotonic", lambda: 7.0)
    monkeypatch.setattr(time, "sleep", slept.append)
    clock.sleep(2.0)
    assert (clock.monotonic(), slept) == (7.0, [2.0])


@pytest.mark.parametrize("package", PACKAGES)
def test_no_default_is_a_clock_of_the_time_module(package):
    """The simulated cluster would not reach it: its histories would depend on the machine's."""
    found = [
        f"{path.relative_to(ROOT)}:{each.lineno}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for text in [path.read_text()]
        if "time." in text
        for each in kept(ast.parse(text))
        if isinstance(each, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and (each.value.id, each.attr in CLOCKS) == ("time", True)
    ]
    assert not found, f"take replicator.runtime.clock: {found}"


# -- Pauses between attempts.


def pauses(backoff, count):
    found = []
    for _ in range(count):
        found.append(backoff.seconds)
        backoff.grow()
    return found


def test_pauses_double_up_to_the_longest():
    assert pauses(Backoff(1.0, 5.0), 5) == [1.0, 2.0, 4.0, 5.0, 5.0]


def test_the_factor_decides_the_growth():
    assert pauses(Backoff(1.0, 100.0, factor=3.0), 3) == [1.0, 3.0, 9.0]


def test_a_reset_begins_with_the_shortest_pause_again():
    backoff = Backoff(1.0, 5.0)
    pauses(backoff, 3)
    backoff.reset()
    assert pauses(backoff, 2) == [1.0, 2.0]


def test_a_jittered_pause_stays_between_its_bounds():
    backoff = Backoff(10.0, 10.0)
    assert all(5.0 <= backoff.jittered(0.5, 1.5) <= 15.0 for _ in range(100))
