"""Settings for all tests: examples are limited by number, not by the clock of a busy machine."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "sluice", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("sluice")
