"""`sluice aggregate`: starts the driver of a region's feeds (driver_start.py)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.topology import UnknownRegion, load
from replicator.runtime.logs import log_to_stderr
from replicator.spark.driver_start import run_driver
from replicator.spark.jvm import MASTER
from replicator.spark.slots import shared_spark

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
UPSERT_IMPORTS = ("aggregator.upsert.key_coordinator",)
"""Modules beside those, where upsert tables are kept."""


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

    upsert_tables = [
        table
        for feed in appliance.feeds_of(region)
        if isinstance(feed, ClickHouseFeed)
        for table in feed.upsert_tables
    ]
    spark = shared_spark(master, conf or {}, sum(table.state_partitions for table in upsert_tables))

    def make(run: Run) -> Work:
        from aggregator.driver.daemon import Daemon

        return Daemon(run)

    return run_driver(
        appliance,
        region,
        "aggregate",
        make,
        doing=f"loads {', '.join(feed.name for feed in appliance.feeds_of(region))}",
        imports=(*IMPORTS, *(UPSERT_IMPORTS if upsert_tables else ())),
        master=spark.master,
        conf=spark.conf,
    )
