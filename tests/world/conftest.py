"""Order of the histories among all tests of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

HISTORIES = Path(__file__).with_name("test_histories.py")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spreads histories evenly: they take longest, and one that begins last ends alone."""
    histories = [it for it in items if it.path == HISTORIES]
    others = [it for it in items if it.path != HISTORIES]
    if not histories:
        return
    each, rest = divmod(len(others), len(histories))
    items.clear()
    for number, history in enumerate(histories):
        begin = number * each + min(number, rest)
        items += [history, *others[begin : begin + each + (number < rest)]]
