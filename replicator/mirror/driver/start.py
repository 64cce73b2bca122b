"""`sluice replicate`: starts the driver of all routes into one region (driver_start.py)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
    "replicator.mirror.driver.carrier_source",
    "replicator.mirror.carrier.carrier",
    "replicator.notices.notice_writer",
    "replicator.spark.kept_up",
    "uvloop",
)
"""Modules imported once for all workers (worker_starter.py): all that their tasks use."""


def run(
    config: str | Path,
    region: str,
    *,
    master: str = MASTER,
    conf: Mapping[str, str] | None = None,
    adopt: Collection[str] = (),
) -> int:
    """Mirrors all routes into the region until told to stop; returns the exit code.

    Args:
        config: the appliance's file.
        region: the target region.
        master: Spark's master URL. local[*] would never run a failed task again: use local[*,8].
        conf: Spark settings that override ours.
        adopt: routes (west>east) whose topics are adopted although the target holds records of
            them. With it the operator states that these routes never mirrored them.

    Raises:
        ConfigMistakes, UnknownRegion, SlotsUnlimited, NoSecret: the operator's settings are wrong.
    """
    log_to_stderr()
    appliance = load(config)
    if not appliance.routes_into(region):
        raise UnknownRegion(f"no route leads into {region!r}; add one to routes")
    trusted = frozenset(map(appliance.route, adopt))

    def make(run: Run) -> Work:
        from replicator.mirror.driver.daemon import Daemon

        return Daemon(run, trusted)

    return run_driver(
        appliance,
        region,
        "replicate",
        make,
        doing=f"mirrors {', '.join(map(str, appliance.routes_into(region)))}",
        imports=IMPORTS,
        master=master,
        conf=conf or {},
    )
