"""Tests use what is public, and replace little: what they patch exists, and is not much."""

import ast
from collections import Counter
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


@cache
def trees() -> list[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text())) for path in TESTS.rglob("*.py")]


@cache
def nodes(tree: ast.Module) -> list[ast.Call | ast.Attribute]:
    """Returns the calls and attributes of a test file."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call | ast.Attribute)]


def patches(tree: ast.Module) -> list[ast.Call]:
    """Returns the calls of monkeypatch.setattr in a test file."""
    calls = [node for node in nodes(tree) if isinstance(node, ast.Call)]
    return [each for each in calls if getattr(each.func, "attr", "") == "setattr"]


def patched(tree: ast.Module) -> list[str]:
    """Returns the dotted names that a test file passes to monkeypatch.setattr."""
    names = [call.args[0] for call in patches(tree)]
    return [name.value for name in names if isinstance(name, ast.Constant)]


def reaches(tree: ast.Module) -> list[str]:
    """Returns the private attributes of other objects that a test file uses."""
    return [
        node.attr
        for node in nodes(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not node.attr.isupper()  # librdkafka's own error codes are constants of that form
        and not _is_own(node.value)
        and node.attr not in PUBLIC | UNAVOIDABLE
    ]


def _is_own(node: ast.expr) -> bool:
    """Returns True for self, cls and super()."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in OWN


def test_the_names_that_tests_replace_exist() -> None:
    names = {name for _, tree in trees() for name in patched(tree)}
    assert "replicator.config.topology.load" in names
    for name in names:
        resolve_name(name)


def test_few_attributes_are_replaced() -> None:
    count = Counter({str(path.relative_to(TESTS)): len(patches(tree)) for path, tree in trees()})
    assert count.total() <= PATCHES_MAX, count.most_common(20)


def test_no_test_reaches_through_private_attributes() -> None:
    found = {str(path.relative_to(TESTS)): reaches(tree) for path, tree in trees()}
    assert set(found.pop("tui/console/running.py")) == DRAWN
    assert {path: names for path, names in found.items() if names}.keys() <= TAKES_APART
