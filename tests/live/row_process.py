"""Row tasks in processes of their own, which may kill themselves as kill -9 would.

    python -m tests.live.row_process TOLD

TOLD has tasks by the step at which their process dies: `before-insert`, `after-insert`,
`after-facts`, or `part-of-block`, once the rows of the block's first day are in. With `never` it
goes on. All are forked from one process, as Spark's are: imports take longer than the tasks.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from aggregator.store.outgoing_block import OutgoingBlock
from aggregator.store.shard_store import ShardStore
from aggregator.tables.native_block import NativeBlock
from aggregator.upsert.row_block import RowBlock
from aggregator.upsert.row_task import RowTask, RowWorker
from deploy.lab.process import Process
from replicator.config.feed_settings import ClickHouseFeed
from replicator.runtime.logs import log_to_stderr

CHECKOUT = Path(__file__).parents[2]
STEPS = ("before-insert", "part-of-block", "after-insert", "after-facts")
DAY_SECONDS = 86_400


def begin_as_told(told: Path, tasks: Mapping[str, RowTask]) -> Process:
    """Writes the tasks' file and returns the started process, which ends with the last task; its
    log is next to the file."""
    told.write_bytes(pickle.dumps(tasks))
    return Process(
        "rows",
        [sys.executable, "-m", "tests.live.row_process", str(told)],
        told.with_suffix(".log"),
        environment={"PYTHONPATH": str(CHECKOUT)},
    )


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DyingStore(ShardStore):
    """Store whose process dies at a step."""

    step = "never"

    def insert(
        self,
        block: OutgoingBlock,
        native: NativeBlock,
        rest: str = "",
        not_after: float = math.inf,
    ) -> None:
        if self.step == "before-insert":
            die()
        if self.step == "part-of-block":
            assert isinstance(block.rows, RowBlock)
            day = block.rows.rows.time_s // DAY_SECONDS
            first: np.ndarray = day == day.min()
            super().insert(block, block.rest(first), rest, not_after)
            die()
        super().insert(block, native, rest, not_after)
        if self.step == "after-insert":
            die()


def run_as_told(told: Path) -> None:
    """Runs the tasks that begin_as_told described."""
    # Written by begin_as_told only, so that unpickling is safe.
    tasks: dict[str, RowTask] = pickle.loads(told.read_bytes())
    log_to_stderr()
    children = []
    for step, task in tasks.items():
        if (child := os.fork()) == 0:
            do(task, step)
            die()
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def do(task: RowTask, step: str) -> None:
    """Does a task, up to a step."""
    DyingStore.step = step
    feed = task.appliance.feed(task.feed)
    assert isinstance(feed, ClickHouseFeed)
    worker = RowWorker(task.appliance, feed, feed.tables[task.table], DyingStore)
    for _ in worker.read(task):
        if step == "after-facts":
            die()


if __name__ == "__main__":
    run_as_told(Path(sys.argv[1]))
