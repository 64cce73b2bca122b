"""Settings for all tests: examples limited by number instead of time, and a run's progress."""

import pytest
from hypothesis import HealthCheck, settings

from tests.run_progress import RunProgress, is_worker, stored_durations

settings.register_profile(
    "sluice", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("sluice")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--store-durations",
        action="store_true",
        help="write the seconds of each test file into tests/durations.json",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not is_worker():
        config.pluginmanager.register(RunProgress(config, stored_durations()))
