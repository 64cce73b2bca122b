"""Settings for all tests: examples are limited by number, not by the clock of a busy machine."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "sluice", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
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
