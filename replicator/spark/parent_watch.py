"""Watch over the processes without which a Python process of Spark has nothing to do.

Spark asks its Python processes to end: pyspark's daemon signals its workers, and the others see
that a socket is closed once they read from it. A process that waits for the next plan, or runs a
task of a day, reads nothing, and outlived its JVM for as long. It looks for itself instead.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import MutableMapping

LOOK_SECONDS = 1.0
DRIVER_PID = "SLUICE_DRIVER_PID"
"""Environment variable with the daemon's process id. Processes of Spark on the daemon's host
inherit it, those on other hosts do not."""

_watching = 0
"""Id of the process whose watch has begun: forked processes begin without it."""


def announce_driver(environment: MutableMapping[str, str]) -> None:
    """Has the processes of Spark that inherit this environment end with the calling process."""
    environment[DRIVER_PID] = str(os.getpid())


def end_with_parent() -> None:
    """Has this process end, without any cleaning up, within seconds of its parent or the daemon.

    The parent is Spark's JVM, or pyspark's daemon, which ends with the JVM. Further calls do
    nothing.
    """
    global _watching
    if _watching != os.getpid():
        _watching = os.getpid()
        threading.Thread(
            target=_watch, args=(os.getppid(),), name="parent-watch", daemon=True
        ).start()


def _watch(parent: int) -> None:
    driver = int(os.environ.get(DRIVER_PID, "0"))
    while os.getppid() == parent and (not driver or _is_alive(driver)):
        time.sleep(LOOK_SECONDS)
    os._exit(1)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it runs as another user
        pass
    return True
