"""`sluice aggregate`: starts the driver of a region's feeds (driver_start.py)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from replicator.config.topology import UnknownRegion, load
from replicator.runtime.logs import log_to_stderr
from replicator.spark.driver_start import run_driver
from replicator.spark.jvm import MASTER

if TYPE_CHECKING:
    from replicator.runtime.daemon import Work
    from replicator.spark.driver_daemon import Run

IMPORTS = (
    "aggregator.driver.feed_source",
    "aggregator.files.parquet_file",
    "aggregator.loader.block_loading",
    "aggregator.s3.object_store",
    "replicator.notices.notice_writer",
    "replicator.spark.kept_up",
    "uvloop",
)
"""Modules imported once for all workers (worker_starter.py): those without polars, which starts
threads."""


def run(
    config: str | Path,
    region: str,
    *,
    master: str = MASTER,
    conf: Mapping[str, str] | None = None,
) -> int:
    """Loads all feeds of the region until told to stop; returns the exit code.

    Args:
        config: the appliance's file.
        master: Spark's master URL. local[*] would never run a failed task again: use local[*,8].
        conf: Spark settings that override ours.

    Raises:
        ConfigMistakes, UnknownRegion, SlotsUnlimited, NoSecret: the operator's settings are wrong.
    """
    log_to_stderr()
    appliance = load(config)
    if not appliance.feeds_of(region):
        raise UnknownRegion(f"no feed has the region {region!r}; add a table [feeds.<name>]")

    def make(run: Run) -> Work:
        from aggregator.driver.daemon import Daemon

        return Daemon(run)

    return run_driver(
        appliance,
        region,
        "aggregate",
        make,
        doing=f"loads {', '.join(feed.name for feed in appliance.feeds_of(region))}",
        imports=IMPORTS,
        master=master,
        conf=conf or {},
    )
