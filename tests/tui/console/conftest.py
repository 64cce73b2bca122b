"""Tests of a module of the console run in one event loop, so that they may share a console."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pytest_asyncio import is_async_test


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Gives the tests of this folder the event loop of their module."""
    of_module = pytest.mark.asyncio(loop_scope="module")
    for item in items:
        if is_async_test(item) and item.path.parent == Path(__file__).parent:
            item.add_marker(of_module, append=False)
