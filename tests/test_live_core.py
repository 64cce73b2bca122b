"""The live core, which `make test` runs: a test of each rule that names live tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
LIVE = CHECKOUT / "tests" / "live"
RULES_FILE = LIVE / "test_rules.py"
LAST_RULE = 36
"""The rules behind this one are of feeds, of which the core has one test."""
MARK, DRILL = "mark.core", "mark.drill"


def guards() -> dict[int, str]:
    """Returns the last column of the table of docs/invariants.md."""
    text = (CHECKOUT / "docs" / "invariants.md").read_text()
    rows = re.findall(r"^\| (\d+) \|.*\| ([^|]*) \|$", text, re.M)
    return {int(number): guard for number, guard in rows if int(number) <= LAST_RULE}


def live_tests(guard: str) -> dict[str, bool]:
    """Returns the live tests that a rule names, each with True if the core has it.

    The name of a file stands for its tests. Drills are left out: the core has none.
    """
    found: dict[str, bool] = {}
    for name in re.findall(r"`(?:tests/live/)?(test_[\w*]+(?:\.py)?)`", guard):
        if not name.endswith(".py"):
            pattern = name.replace("*", r"\w*")
            found |= {t: c for t, c in marked_tests(RULES_FILE).items() if re.fullmatch(pattern, t)}
        elif (LIVE / name).exists() and DRILL not in (LIVE / name).read_text():
            found[name] = any(marked_tests(LIVE / name).values())
    return found


def marked_tests(file: Path) -> dict[str, bool]:
    """Returns the tests of a file, each with True if it or one of its parameters is marked core."""
    tree = ast.parse(file.read_text())
    named = {
        target.id: ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    named |= {each.name: ast.unparse(each) for each in functions}
    is_core = MARK in named.get("pytestmark", "")
    return {
        each.name: is_core or any(_marks_core(ast.unparse(d), named) for d in each.decorator_list)
        for each in functions
        if each.name.startswith("test_")
    }


def _marks_core(decorator: str, named: dict[str, str]) -> bool:
    """Returns True for a decorator with the mark, or one whose name stands for text with it."""
    return MARK in decorator or MARK in named.get(decorator.partition("(")[0], "")


@pytest.mark.parametrize("number", range(1, LAST_RULE + 1))
def test_each_rule_that_names_live_tests_has_one_in_the_core(number: int) -> None:
    named = live_tests(guards()[number])
    assert not named or any(named.values()), f"none of {sorted(named)} is marked core"


def test_rules_whose_only_live_tests_are_drills_or_that_have_none_are_few() -> None:
    assert {number for number, guard in guards().items() if not live_tests(guard)} == {17, 18, 26}
