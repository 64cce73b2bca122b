"""Starter of Spark's Python workers, run in place of Spark's own (spark.python.daemon.module).

It imports what tasks use once, and only then forks workers. Otherwise each worker would do so: 0.6
CPU s and 45 MB of memory of its own (decision 0087). None of these modules may start a thread or
open a connection when it is imported: a thread does not outlive a fork, and may hold a lock.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable
from importlib import import_module

from replicator.runtime.left_out import leave_out_pandas

IMPORTS = "SLUICE_WORKER_IMPORTS"
"""Environment variable: the modules, separated by spaces."""


def start(modules: Iterable[str], fork_workers: Callable[[], None]) -> None:
    """Imports the modules, then forks workers until Spark ends."""
    leave_out_pandas()
    for module in modules:
        import_module(module)
    # The collector of a worker leaves alone what it shares with the others.
    gc.freeze()
    fork_workers()


if __name__ == "__main__":
    from pyspark.daemon import manager

    start(os.environ.get(IMPORTS, "").split(), manager)
