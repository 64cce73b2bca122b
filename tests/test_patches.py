"""Tests use what is public, and replace little: what they patch exists, and is not much."""

import ast
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

TESTS = Path(__file__).parent

PATCHES_MAX = 56
"""Calls of monkeypatch.setattr in all tests. A pause, a clock or a client is an argument instead;
what is left replaces parts of libraries and of the command line."""

OWN = {"self", "cls"}
PUBLIC = {"_asdict", "_fields", "_make", "_replace"}
"""Methods of named tuples, which are public in spite of their names."""
UNAVOIDABLE = {"_group_id", "_topics", "_transaction_result", "_transactional_id"}
"""Attributes of aiokafka's requests, which show their fields in no other way."""
DRAWN = {"_compositor", "_background_screens"}
"""Attributes of Textual, whose public exports are pictures: frames are compared as text, in one
function of tests/tui/console/running.py."""
TAKES_APART = {
    "aggregator/loader/test_block_forming.py",
    "aggregator/loader/test_object_forming.py",
    "live/feed_steps.py",
    "live/object_steps.py",
    "live/test_feed_protections.py",
    "live/test_object_protections.py",
    "live/test_object_rights.py",
    "live/test_object_tags.py",
    "live/test_restore.py",
    "test_feed_protections.py",
}
"""Tests that put something else in place of a loader's inner parts. No further ones."""


MAY_COUNT = re.compile(r"setattr|(?<!\bself)(?<!\bcls)(?<!\bsuper\(\))\s*\.\s*_(?!_)")
"""Text of every file that patches or reaches anything, and of few others."""


@dataclass(frozen=True, slots=True)
class FileUses:
    """A test file's uses of what is not its own.

    Args:
        patched: first argument of each call of monkeypatch.setattr, if it is a name.
        reached: private attributes of other objects.
    """

    patched: list[str | None]
    reached: list[str]


@cache
def files() -> dict[str, FileUses]:
    """Returns the test files that patch or reach anything, by their paths.

    Their trees are dropped one by one: kept, they slow all garbage collections that follow.
    """
    texts = ((path, path.read_text()) for path in TESTS.rglob("*.py"))
    return {
        str(path.relative_to(TESTS)): read(ast.parse(text))
        for path, text in texts
        if MAY_COUNT.search(text)
    }


def read(tree: ast.Module) -> FileUses:
    """Returns what a test file patches and reaches."""
    nodes = list(ast.walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    return FileUses(
        [_first_name(call) for call in calls if getattr(call.func, "attr", "") == "setattr"],
        [node.attr for node in attributes if _is_private(node.attr) and not _is_own(node.value)],
    )


def _first_name(call: ast.Call) -> str | None:
    match call.args[0]:
        case ast.Constant(value=str(name)):
            return name
    return None


def _is_private(name: str) -> bool:
    return (
        name.startswith("_")
        and not name.startswith("__")
        and not name.isupper()  # librdkafka's own error codes are constants of that form
        and name not in PUBLIC | UNAVOIDABLE
    )


def _is_own(node: ast.expr) -> bool:
    """Returns True for self, cls and super()."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in OWN


def test_the_names_that_tests_replace_exist() -> None:
    names = {name for file in files().values() for name in file.patched if name}
    assert "replicator.config.topology.load" in names
    for name in names:
        resolve_name(name)


def test_few_attributes_are_replaced() -> None:
    count = Counter({path: len(file.patched) for path, file in files().items()})
    assert count.total() <= PATCHES_MAX, count.most_common(20)


def test_no_test_reaches_through_private_attributes() -> None:
    found = {path: file.reached for path, file in files().items()}
    assert set(found.pop("tui/console/running.py")) == DRAWN
    assert {path: names for path, names in found.items() if names}.keys() <= TAKES_APART
