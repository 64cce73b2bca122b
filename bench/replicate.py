"""Throughput: all systems mirror the same loaded topic in turn, round after round."""

from __future__ import annotations

from bench.ground import Ground, say
from bench.load import Load
from bench.measure import Window, throughput
from bench.mirror import Factory, Order

SECONDS_MAX = 25.0


def measured(
    ground: Ground,
    system: str,
    factory: Factory,
    load: Load,
    *,
    seconds_max: float = SECONDS_MAX,
) -> Window:
    """Returns the steady window of one system over a loaded topic. Raises NothingArrives."""
    mirror = factory(ground, Order(load.topic, "throughput"))
    try:
        mirror.start()
        window = throughput(
            ground,
            mirror,
            load.records,
            seconds_max=seconds_max,
            has_markers=system.endswith("exactly_once"),
        )
    finally:
        mirror.stop()
    say(
        f"  {window.records_per_second:,.0f} records/s,"
        f" {window.cpu_seconds_per_million:.2f} CPU s per million"
        f" (brokers {window.brokers_cpu_seconds_per_million:.2f}),"
        f" {window.seconds:.1f} s, {window.peak_rss_mb:.0f} MB"
    )
    return window
