"""Names that tests patch exist: a moved name fails here at once, and not only in a live test."""

import ast
from pathlib import Path
from pkgutil import resolve_name

import pytest

TESTS = Path(__file__).parent


def patched(path: Path) -> list[str]:
    """Returns the dotted names that a test file passes to monkeypatch.setattr."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    return [
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "setattr"
        and isinstance(call.args[0], ast.Constant)
    ]


NAMES = sorted({name for path in TESTS.rglob("test_*.py") for name in patched(path)})


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_tests_replace_exists(name: str) -> None:
    resolve_name(name)


def test_names_are_found() -> None:
    assert "replicator.mirror.ledger.inspection.target_loss" in NAMES
