"""Start of a driver whose configuration was read: Spark's JVM first, all else beside it.

1. The operator's Spark settings are checked, and this run gets a folder of its own.
2. The JVM is launched. From here to a started Spark it takes longer than all else (decision 0087).
3. Meanwhile the daemon's modules are imported. The daemon then compares clusters and describes
   topics, as it may while another driver leads.
4. Spark starts, and the process that forks Python workers. The end of an empty epoch tells that all
   are ready.
5. Only then the driver acquires its term, which fences the driver before, and publishes a plan.
   Carriers begin, and each fences its predecessor before it carries.

Steps 4 and 5 are in the daemons themselves (driver_daemon.py, and daemon.py of both drivers).
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from replicator.config.topology import Appliance
from replicator.runtime.exit_codes import Exit
from replicator.runtime.private_files import private_folder
from replicator.spark.authentication import split_secret
from replicator.spark.jvm import Jvm
from replicator.spark.slots import slots_at_most

if TYPE_CHECKING:
    from replicator.runtime.daemon import Work
    from replicator.spark.driver_daemon import Run

log = logging.getLogger(__name__)
RUN_PREFIX = "run-"


def run_driver(
    appliance: Appliance,
    region: str,
    command: str,
    make: Callable[[Run], Work],
    *,
    doing: str,
    imports: Iterable[str],
    master: str,
    conf: Mapping[str, str],
    launch: Callable[..., Jvm] = Jvm,
) -> int:
    """Runs a driver in a folder of its own until told to stop; returns the exit code.

    Args:
        command: `replicate` or `aggregate`: drivers of both may run on one host.
        make: imports the daemon and creates it.
        doing: for its card, such as the routes that it mirrors.
        imports: modules that its Python workers need.
        master, conf: Spark's master URL and the operator's Spark settings.
        launch: launches Spark's JVM.

    Raises:
        SlotsUnlimited, NoSecret: the operator's Spark settings are wrong.
    """
    slots_at_most(conf)
    split_secret(master, conf)
    settings = appliance.replicator
    # Holds for Spark and its Python processes too, whose scratch files contain the same data.
    os.umask(0o077)
    try:
        private_folder(settings.state_dir)
        private_folder(settings.receipts_dir)
        with (
            run_folder(settings.state_dir / command / region) as folder,
            launch(master, folder, conf, imports) as jvm,
        ):
            # Imported only now, as the daemon itself is by `make`.
            from replicator.notices.conditions import Conditions
            from replicator.notices.notice_writer import notices
            from replicator.notices.own_card import own_card
            from replicator.runtime.daemon import run_until_stopped
            from replicator.spark.driver_daemon import Run

            who = f"{command} {region}"
            conditions, card = Conditions(who), own_card(command, region, doing)
            with notices(appliance.region(region), who, [conditions], card):
                daemon = make(Run(appliance, region, folder, jvm, conditions))
                return asyncio.run(run_until_stopped(daemon, region))
    except OSError as error:
        log.error(
            "event=failed state_dir %s, receipts_dir %s: %s",
            settings.state_dir,
            settings.receipts_dir,
            error,
        )
        return Exit.FAILED


@contextmanager
def run_folder(state: Path) -> Iterator[Path]:
    """Yields an empty folder below `state`; first removes the folders that killed runs left there.

    Raises OSError: `state` cannot be written to, or others may write to it.
    """
    private_folder(state)
    for left in state.glob(f"{RUN_PREFIX}*"):
        if not is_running(left.name.removeprefix(RUN_PREFIX)):
            shutil.rmtree(left, ignore_errors=True)
    folder = state.resolve() / f"{RUN_PREFIX}{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    private_folder(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_running(process: str) -> bool:
    """Returns True when a process of that number exists, whichever user owns it."""
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
