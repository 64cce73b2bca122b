"""Cost of the key coordinator of an upsert table, without Kafka and without a store.

    .venv/bin/python -m bench.upsert_coordinator                       # all cases, some 15 minutes
    .venv/bin/python -m bench.upsert_coordinator --case scale_1e6       # only if named

The real query runs in a local Spark, over made facts: each case a Spark of its own. `empty` is the
price of a tick by itself; folds have three versions of each key, and say the price of a key beside
it. `scale` bootstraps one version of each key, and folds another one of each, so that the state
holds two, the most that it keeps. `process_per_key` is the alternative of decision 0104,
transformWithState with a value per key, on the same facts. CPU is that of all processes, brokers
and store not among them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aggregator.upsert.checkpoint import Checkpoint, Checkpoints, Identity
from aggregator.upsert.facts import FACTS, KEY_BYTES
from aggregator.upsert.tick import ROW_BITS, Lane, LaneRange, Tick
from aggregator.upsert.tick_posting import TickPosting, TickPostingFile
from bench.ground import DIRECTORY, say
from bench.machine import described, load_average
from bench.measure import Tree
from bench.results import keep
from bench.upsert_per_key import PerKey
from bench.upsert_results import COORDINATOR_FILE, CoordinatorResult
from bench.upsert_state import Snapshot, snapshot_since
from replicator.runtime.left_out import leave_out_pandas

SECONDS = 3600.0
TASK_ROWS = 65_536
HISTORY_ROWS, LANES = 2_000, 4
WARM_TICKS = 3
SNAPSHOT_TICKS = 31
"""Ticks behind which Spark makes a snapshot of the state."""
LAST_ROWS = 20_000
"""Rows of the last tick: the state holds its facts, in all sizes of a state alike."""


@dataclass(frozen=True)
class Facts:
    """Reader of facts that are a function of their tick.

    Args:
        keys: number of keys.
        rows: of a tick.
        is_in_turn: each key comes once, then each once more; else they come at random.
    """

    keys: int
    rows: int
    is_in_turn: bool = False

    def tick_tasks(self, posting: TickPosting, tick: Tick) -> list[tuple[int, int, int]]:
        rows = tick.offsets
        return [
            (tick.number, begin, min(begin + TASK_ROWS, rows))
            for begin in range(0, rows, TASK_ROWS)
        ]

    def bootstrap_tasks(self, generation: int, tick: int) -> list[tuple[int, int, int]]:
        return [
            (0, begin, min(begin + TASK_ROWS, self.keys))
            for begin in range(0, self.keys, TASK_ROWS)
        ]

    def read(
        self, task: tuple[int, int, int], *, is_first_attempt: bool
    ) -> Iterator[pa.RecordBatch]:
        tick, begin, end = task
        random = np.random.default_rng(task)
        numbers = np.arange(begin, end, dtype=np.int64)
        count = end - begin
        ticks, places = np.full(count, tick), numbers + tick * self.rows
        if not tick:
            keys = numbers
            # Rows of a bootstrap are of any tick, in no order.
            places = random.integers(0, 2 * self.keys, count)
            ticks, numbers = 1 + places // HISTORY_ROWS, places % HISTORY_ROWS
        elif self.is_in_turn:
            keys = (numbers + tick * self.rows) % self.keys
        else:
            keys = random.integers(0, self.keys, count)
        hashes = np.stack([mixed(keys), mixed(keys + (1 << 40))], axis=1)
        content = pa.py_buffer(hashes.tobytes())
        key = pa.FixedSizeBinaryArray.from_buffers(pa.binary(KEY_BYTES), count, [None, content])
        columns = {
            "key": key.cast(pa.binary()),
            "order": 1_790_000_000_000 + ticks * 1000 - random.integers(0, 3000, count),
            "lane": (places % LANES).astype(np.int32),
            "offset": places // LANES,
            "row": np.zeros(count, np.int32),
            "row_id": numbers + (ticks << ROW_BITS),
            "is_delete": random.random(count) < 0.02,
            "note": pa.nulls(count, pa.binary()),
        }
        yield pa.RecordBatch.from_pydict(columns, schema=FACTS)


def mixed(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Returns numbers without any order, as hashes are, each of another number (splitmix64)."""
    found = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        found = (found ^ (found >> np.uint64(shift))) * np.uint64(factor)
    return found ^ (found >> np.uint64(31))


@dataclass(frozen=True)
class Case:
    """Ticks that are folded.

    Args:
        ticks: number of them; enough for three versions of each key, or for one of `is_scale`.
        parts: of the state.
        is_scale: the state's size is measured behind the bootstrap, and once each key came again.
        is_per_key: by transformWithState, a process for each key.
    """

    name: str
    keys: int
    rows: int
    ticks: int
    parts: int = 1
    is_scale: bool = False
    is_per_key: bool = False


CASES = (
    Case("empty", 1000, 1000, WARM_TICKS + 1),
    Case("empty_4_parts", 1000, 1000, WARM_TICKS + 1, parts=4),
    Case("fold_1e5", 100_000, 20_000, 15),
    Case("fold_1e5_4_parts", 100_000, 20_000, 15, parts=4),
    Case("process_per_key", 100_000, 5_000, 8, is_per_key=True),
)
SCALE = tuple(
    Case(name, keys, rows, keys // rows, parts=2, is_scale=True)
    for name, keys, rows in (
        ("scale_1e4", 10_000, 2_000),
        ("scale_1e5", 100_000, 20_000),
        ("scale_3e5", 300_000, 60_000),
        ("scale_1e6", 1_000_000, 200_000),
        ("scale_5e6", 5_000_000, 500_000),
    )
)
"""Cases that run only if named."""


class Bench:
    """A Spark with one query."""

    def __init__(self, case: Case, folder: Path) -> None:
        from aggregator.upsert.key_coordinator import KeyCoordinator
        from replicator.spark.jvm import Jvm
        from replicator.spark.session import Session
        from replicator.spark.slots import shared_spark

        self.case = case
        self.tree = Tree(os.getpid())
        often = {"spark.sql.streaming.stateStore.maintenanceInterval": "5s"}
        master, conf = shared_spark("local[1,8]", often, 1)
        imports = ["aggregator.upsert.key_coordinator", "bench.upsert_coordinator"]
        self.session = Session(Jvm(master, folder, conf, imports))
        self.posting = TickPostingFile(folder / "posting")
        self.posting.write_reader(Facts(case.keys, case.rows, case.is_scale))
        self.checkpoint: Checkpoint = Checkpoints(folder / "checkpoint").following()
        self.checkpoint.begin(Identity("bench", case.name, 1, case.parts))
        self.begin = 1 + 2 * case.keys // HISTORY_ROWS if case.is_scale else 0
        self.post(0)
        sql = self.session.sql()
        if case.is_per_key:
            self.coordinator: Any = PerKey(sql, self.posting, self.checkpoint)
        else:
            self.coordinator = KeyCoordinator(
                sql,
                table=case.name,
                posting=self.posting,
                checkpoint=self.checkpoint,
                on_tick=lambda result: None,
            )

    def post(self, number: int, rows: int = 0) -> None:
        if not number:
            self.posting.write(TickPosting(1, self.begin, self.begin))
            return
        number += self.begin
        lane = Lane("made", "facts", UUID(int=0), 0)
        tick = Tick(1, number, 0, (lane,), (LaneRange(0, rows),))
        self.posting.write(TickPosting(1, self.begin, number - 1, (tick,), is_new=True))

    def fold(self, number: int, rows: int) -> None:
        self.post(number, rows)
        assert self.coordinator.wait_committed(number + self.begin, SECONDS)

    def measured(self) -> CoordinatorResult:
        case = self.case
        before, began = self.tree.cpu_seconds(), time.monotonic()
        self.coordinator.start()
        assert self.coordinator.wait_committed(self.begin, SECONDS)
        bootstrap_cpu = self.tree.cpu_seconds() - before
        bootstrap_seconds = time.monotonic() - began
        say(f"{case.name}: started after {bootstrap_seconds:.1f} s, {bootstrap_cpu:.1f} CPU s")
        folded, bootstrapped = 0, None
        if case.is_scale:
            folded = self.folded_empty(folded)
            bootstrapped = self.snapshot(folded).size_bytes / case.keys
            say(f"{case.name}: {bootstrapped:.1f} bytes per key behind the bootstrap")
        warm = 0 if case.is_scale else WARM_TICKS
        for _ in range(warm):
            self.fold(folded := folded + 1, case.rows)
        before, began = self.tree.cpu_seconds(), time.monotonic()
        for _ in range(case.ticks - warm):
            self.fold(folded := folded + 1, case.rows)
        cpu, seconds = self.tree.cpu_seconds() - before, time.monotonic() - began
        say(f"{case.name}: folded in {seconds:.1f} s, {cpu:.1f} CPU s")
        if case.is_scale:
            self.fold(folded := folded + 1, LAST_ROWS)
        before, began = self.tree.cpu_seconds(), time.monotonic()
        folded = self.folded_empty(folded)
        empty_cpu = (self.tree.cpu_seconds() - before) / SNAPSHOT_TICKS
        empty_seconds = (time.monotonic() - began) / SNAPSHOT_TICKS
        before = self.tree.cpu_seconds()
        time.sleep(5)
        idle = (self.tree.cpu_seconds() - before) / 5
        ticks = case.ticks - warm
        rows = ticks * case.rows
        figures = CoordinatorResult(
            case=case.name,
            system="per_key" if case.is_per_key else "sluice",
            keys=case.keys,
            rows_per_tick=case.rows,
            parts=case.parts,
            empty_seconds=empty_seconds,
            empty_cpu_seconds=empty_cpu,
            idle_cpu=idle,
            tick_seconds=seconds / ticks,
            rows_per_second=rows / seconds,
            cpu_seconds_per_million=cpu / rows * 1e6,
            rows_per_cpu_second=rows / max(cpu - ticks * empty_cpu, 1e-9),
            bootstrap_seconds=bootstrap_seconds if case.is_scale else None,
            bootstrap_cpu_seconds=bootstrap_cpu if case.is_scale else None,
            bootstrapped_bytes_per_key=bootstrapped,
            **self.state_bytes_per_key(folded),
            peak_rss_mb=self.tree.peak_rss_mb,
        )
        self.coordinator.stop(0, 0.0)
        self.session.stop()
        return figures

    def state_bytes_per_key(self, folded: int) -> dict[str, float]:
        """Returns the sizes of the state that a result has, of a case with more than a tick."""
        if self.case.keys <= self.case.rows or self.case.is_per_key:
            return {}
        found, size = self.snapshot(folded), self.checkpoint.size_bytes()
        merged = found.merged_bytes(self.session.context._jvm, self.checkpoint.folder / "merged")
        return {
            "bytes_per_key": found.size_bytes / self.case.keys,
            "merged_bytes_per_key": merged / self.case.keys,
            "checkpoint_bytes_per_key": size / self.case.keys,
        }

    def folded_empty(self, folded: int) -> int:
        """Folds ticks without rows, so many that a snapshot follows; returns the last one."""
        for number in range(folded + 1, folded + SNAPSHOT_TICKS + 1):
            self.fold(number, 0)
        return folded + SNAPSHOT_TICKS

    def snapshot(self, folded: int) -> Snapshot:
        """Returns the snapshot of the state that has all ticks with rows.

        Args:
            folded: newest tick; SNAPSHOT_TICKS before it had no rows.
        """
        # Versions are batches from 1 on, of which a bootstrap is one.
        since = folded - SNAPSHOT_TICKS + 1
        return snapshot_since(self.checkpoint.folder / "state" / "0", self.case.parts, since)


def run(case: Case) -> None:
    """Runs a case and replaces its results."""
    folder = DIRECTORY.with_name(f"bench-upsert-coordinator-{os.getpid()}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    load = load_average()
    try:
        found = Bench(case, folder).measured()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    say(json.dumps(found.to_json()))
    now = {
        "at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "load_average": round(load, 2),
        "rounds": 1,
    }
    keep(COORDINATOR_FILE, case.name, [found], machine=described(), run=now)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--case", action="append", choices=[each.name for each in CASES + SCALE])
    names = asked.parse_args().case or [each.name for each in CASES]
    if len(names) > 1:
        # PySpark has one JVM in a process.
        for name in names:
            command = [sys.executable, "-m", "bench.upsert_coordinator", "--case", name]
            subprocess.run(command, check=True)
        return
    [case] = [each for each in CASES + SCALE if each.name in names]
    if not case.is_per_key:
        leave_out_pandas()
    run(case)


if __name__ == "__main__":
    from bench import upsert_coordinator

    # Spark's processes import what __main__ would hide from them.
    upsert_coordinator.main()
