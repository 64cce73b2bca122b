"""Tests of a module of the console run in one event loop, so that they may share a console."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from pytest_asyncio import is_async_test

from tests.tui.console import snapshots
from tests.tui.console.running import Running, running


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Gives the tests of this folder the event loop of their module."""
    of_module = pytest.mark.asyncio(loop_scope="module")
    for item in items:
        if is_async_test(item) and item.path.parent == Path(__file__).parent:
            item.add_marker(of_module, append=False)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_console() -> AsyncIterator[Running]:
    """Yields a console of small size, for all tests of a module that leave its settings."""
    async with running(snapshots.lagging()) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def console(shared_console: Running) -> Running:
    """Returns the module's console as if it had just been started on the lagging snapshot."""
    await shared_console.begin_again(snapshots.lagging())
    return shared_console
