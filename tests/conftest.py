"""Settings for all tests: examples limited by number instead of time, a run's progress, and the
seeds that it has played."""

import gc
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.run_progress import RunProgress, is_worker, stored_durations
from tests.world.played_seeds import PlayedSeeds

settings.register_profile(
    "sluice",
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
# `make soak`: --hypothesis-profile thorough
settings.register_profile("thorough", settings.get_profile("sluice"), max_examples=2000)
settings.load_profile("sluice")

REWRITE = "REWRITE_SNAPSHOTS"
"""Environment variable: with it set, tests store the texts that they find instead of comparing."""


@pytest.fixture
def assert_snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`assert_snapshot(text, name)`: compares a whole text with the stored file of that name.

    The file is snapshots/<name>.txt beside the test's own file. To rewrite it after an intended
    change, run the test once with REWRITE_SNAPSHOTS=1, and read the difference before committing.
    """

    def assert_snapshot(text: str, name: str) -> None:
        path = Path(request.path).parent / "snapshots" / f"{name}.txt"
        if os.environ.get(REWRITE):
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{text}\n")
        stored = path.read_text() if path.exists() else "no such file\n"
        assert f"{text}\n" == stored, (
            f"{path} differs; to rewrite it: {REWRITE}=1 pytest {path.parents[1]}"
        )

    return assert_snapshot


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--store-durations",
        action="store_true",
        help="write the seconds of each test into tests/durations.json",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not is_worker():
        config.pluginmanager.register(RunProgress(config, stored_durations()))
        config.pluginmanager.register(PlayedSeeds())


def pytest_collectstart() -> None:
    """Seeks no garbage while tests are collected: hardly anything of it becomes any."""
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leaves all modules and tests out of later garbage collections, which they only slow down."""
    gc.collect()
    gc.freeze()
    gc.enable()
