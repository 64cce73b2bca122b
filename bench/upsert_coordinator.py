"""Cost of the key coordinator of an upsert table, without Kafka and without a store.

    .venv/bin/python -m bench.upsert_coordinator                       # all cases, some 15 minutes
    .venv/bin/python -m bench.upsert_coordinator --case fold_1e6        # only if named

The real query runs in a local Spark, over made facts: each case a Spark of its own. `empty` is the
price of a tick by itself; folds have three versions of each key, and say the price of a key beside
it; `bootstrap` reads the state anew. `process_per_key` is the alternative of decision 0104,
transformWithState with a value per key, on the same facts. The bytes of a key are those of the
state's newest snapshot. CPU is that of all processes, brokers and store not
among them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from aggregator.upsert.checkpoint import Checkpoint, Checkpoints, Identity
from aggregator.upsert.facts import FACTS, KEY_BYTES
from aggregator.upsert.tick import ROW_BITS, Lane, LaneRange, Tick
from aggregator.upsert.tick_posting import TickPosting, TickPostingFile
from bench.ground import DIRECTORY, say
from bench.machine import described, load_average
from bench.measure import Tree
from deploy.lab.kafka import CHECKOUT
from replicator.runtime.left_out import leave_out_pandas

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILE = CHECKOUT / "bench" / "results" / "upsert_coordinator.json"
SECONDS = 600.0
TASK_ROWS = 65_536
EMPTY_TICKS, WARM_TICKS = 30, 3
LOOK_SECONDS, SNAPSHOT_SECONDS = 0.5, 20.0


@dataclass(frozen=True)
class Facts:
    """Reader of facts that are a function of their tick: uniform over the keys.

    Args:
        keys: number of keys.
        rows: of a tick.
    """

    keys: int
    rows: int

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
        keys = random.integers(0, self.keys, end - begin) if tick else numbers
        count = end - begin
        # Any odd multiplier maps numbers to numbers one to one: hashes without calculating any.
        hashes = np.empty((count, 2), np.uint64)
        hashes[:, 0] = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        hashes[:, 1] = keys.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
        content = pa.py_buffer(hashes.tobytes())
        key = pa.FixedSizeBinaryArray.from_buffers(pa.binary(KEY_BYTES), count, [None, content])
        now_ms = 1_790_000_000_000 + tick * 1000
        columns = {
            "key": key.cast(pa.binary()),
            "order": now_ms - random.integers(0, 3000, count),
            "lane": np.full(count, begin // TASK_ROWS % 4, np.int32),
            "offset": numbers + tick * self.rows,
            "row": np.zeros(count, np.int32),
            "row_id": numbers + (tick << ROW_BITS),
            "is_delete": random.random(count) < 0.02,
            "note": pa.nulls(count, pa.binary()),
        }
        yield pa.RecordBatch.from_pydict(columns, schema=FACTS)


@dataclass(frozen=True)
class Case:
    """Ticks that are folded.

    Args:
        ticks: number of them; enough for three versions of each key.
        parts: of the state.
        is_per_key: by transformWithState, a process for each key.
    """

    name: str
    keys: int
    rows: int
    ticks: int
    parts: int = 1
    is_bootstrapped: bool = False
    is_per_key: bool = False


CASES = (
    Case("empty", 1000, 1000, WARM_TICKS + 1),
    Case("empty_4_parts", 1000, 1000, WARM_TICKS + 1, parts=4),
    Case("fold_1e5", 100_000, 20_000, 15),
    Case("fold_1e5_4_parts", 100_000, 20_000, 15, parts=4),
    Case("bootstrap_1e6", 1_000_000, 20_000, 4, is_bootstrapped=True),
    Case("process_per_key", 100_000, 5_000, 8, is_per_key=True),
)
BY_HAND = (
    Case("fold_1e6", 1_000_000, 150_000, 20),
    Case("fold_5e6", 5_000_000, 200_000, 75),
)
"""Cases that run only if named."""


@dataclass(frozen=True)
class Figures:
    """Figures of a case.

    Args:
        empty_seconds, empty_cpu_seconds: of an empty tick.
        idle_cpu: CPU seconds per second while there is no tick.
        cpu_seconds_per_million: rows, the price of the ticks by themselves included.
        rows_per_cpu_second: beside the price of the ticks by themselves.
        bytes_per_key: of the state on disk.
    """

    case: str
    keys: int
    rows_per_tick: int
    parts: int
    empty_seconds: float
    empty_cpu_seconds: float
    idle_cpu: float
    tick_seconds: float
    rows_per_second: float
    cpu_seconds_per_million: float
    rows_per_cpu_second: float
    bytes_per_key: float | None
    peak_rss_mb: float
    bootstrap_keys_per_cpu_second: float
    load: float


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
        self.posting.write_reader(Facts(case.keys, case.rows))
        self.checkpoint: Checkpoint = Checkpoints(folder / "checkpoint").following()
        self.checkpoint.begin(Identity("bench", case.name, 1, case.parts))
        self.begin = 1 if case.is_bootstrapped else 0
        self.post(0)
        sql = self.session.sql()
        if case.is_per_key:
            self.coordinator: Any = PerKey(sql, self)
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

    def measured(self) -> Figures:
        case = self.case
        before, began = self.tree.cpu_seconds(), time.monotonic()
        self.coordinator.start()
        assert self.coordinator.wait_committed(self.begin, SECONDS)
        bootstrap_cpu = self.tree.cpu_seconds() - before
        say(f"{case.name}: started after {time.monotonic() - began:.1f} s")
        for number in range(1, WARM_TICKS + 1):
            self.fold(number, case.rows)
        before, began = self.tree.cpu_seconds(), time.monotonic()
        for number in range(WARM_TICKS + 1, case.ticks + 1):
            self.fold(number, case.rows)
        cpu, seconds = self.tree.cpu_seconds() - before, time.monotonic() - began
        before, began = self.tree.cpu_seconds(), time.monotonic()
        for number in range(case.ticks + 1, case.ticks + EMPTY_TICKS + 1):
            self.fold(number, 0)
        empty_cpu = (self.tree.cpu_seconds() - before) / EMPTY_TICKS
        empty_seconds = (time.monotonic() - began) / EMPTY_TICKS
        before = self.tree.cpu_seconds()
        time.sleep(5)
        idle = (self.tree.cpu_seconds() - before) / 5
        ticks = case.ticks - WARM_TICKS
        rows = ticks * case.rows
        figures = Figures(
            case.name,
            case.keys,
            case.rows,
            case.parts,
            round(empty_seconds, 3),
            round(empty_cpu, 3),
            round(idle, 3),
            round(seconds / ticks, 3),
            round(rows / seconds),
            round(cpu / rows * 1e6, 1),
            round(rows / max(cpu - ticks * empty_cpu, 1e-9)),
            self.bytes_per_key() if case.keys > case.rows else None,
            round(self.tree.peak_rss_mb),
            round(case.keys / bootstrap_cpu) if case.is_bootstrapped else 0,
            round(load_average(), 1),
        )
        self.coordinator.stop(0, 0.0)
        self.session.stop()
        return figures

    def bytes_per_key(self) -> float | None:
        """Returns the bytes of the newest snapshot; None if none was made behind the folds."""
        state = self.checkpoint.folder / "state"
        until = time.monotonic() + SNAPSHOT_SECONDS
        while time.monotonic() < until:
            if any(int(each.stem) > self.case.ticks for each in state.rglob("*.zip")):
                newest = sum(each.stat().st_size for each in state.rglob("*.sst"))
                return round(newest / self.case.keys, 1)
            time.sleep(LOOK_SECONDS)
        return None


class PerKey:
    """The alternative: transformWithState, with the newest version of each key as its value."""

    def __init__(self, session: Any, bench: Bench) -> None:
        self.session = session
        self.bench = bench

    def start(self) -> None:
        from pyspark.sql.udf import UserDefinedFunction
        from pyspark.util import PythonEvalType

        from aggregator.upsert.key_coordinator import QUERY_CONF, REDUCED, reduced
        from aggregator.upsert.tick_source import IS_LOCAL, NAME, PARTS, POSTING, TickSource

        for name, value in {**QUERY_CONF, "spark.sql.shuffle.partitions": "1"}.items():
            self.session.conf.set(name, value)
        self.session.dataSource.register(TickSource)
        facts = (
            self.session.readStream.format(NAME)
            .option(POSTING, str(self.bench.posting.path))
            .option(PARTS, "1")
            .option(IS_LOCAL, "true")
            .load()
        )
        reduce = UserDefinedFunction(
            reduced, returnType=REDUCED, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF
        )
        moved = facts.repartitionById(1, "part")
        column = reduce(*[moved[name] for name in moved.columns])
        frame = type(moved)(moved._jdf.mapInArrow(column._jc, False, None), self.session)
        keys = frame.where("version IS NOT NULL").select("key", "version").groupBy("key")
        self.query = (
            keys.transformWithState(per_key(), "key binary, top array<binary>", "Update", "none")
            .writeStream.outputMode("update")
            .option("checkpointLocation", self.bench.checkpoint.folder.as_uri())
            .foreachBatch(count_rows)
            .start()
        )

    def wait_committed(self, tick: int, seconds: float) -> bool:
        until = time.monotonic() + seconds
        identity = self.bench.checkpoint.identity()
        while time.monotonic() < until:
            found = self.bench.checkpoint.committed(identity)
            if found is not None and found.tick >= tick:
                return True
            assert self.query.isActive, self.query.exception()
            time.sleep(0.02)
        return False

    def stop(self, tick: int, seconds: float) -> None:
        self.query.stop()


def count_rows(frame: DataFrame, batch: int) -> None:
    frame.toArrow()


def per_key() -> Any:
    """Returns the processor of the alternative."""
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Newest(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.newest = handle.getValueState("newest", "version binary")

        def handleInputRows(self, key: Any, rows: Any, _: Any) -> Iterator[Any]:  # noqa: N802
            before = self.newest.get()
            old = bytes(before[0]) if before else b""
            best = max(bytes(row.version) for row in rows)
            if best > old:
                self.newest.update((best,))
            yield Row(key=key[0], top=sorted((old, best)))

        def close(self) -> None:
            pass

    return Newest()


def run(cases: Sequence[Case]) -> None:
    """Runs the cases and replaces their figures in the file of results."""
    found = json.loads(FILE.read_text()) if FILE.exists() else {"figures": []}
    for case in cases:
        folder = DIRECTORY / f"coordinator-{os.getpid()}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        figures = asdict(Bench(case, folder).measured())
        shutil.rmtree(folder, ignore_errors=True)
        say(json.dumps(figures))
        kept = [each for each in found["figures"] if each["case"] != case.name]
        found = {"machine": described(), "figures": [*kept, figures]}
        FILE.write_text(json.dumps(found, indent=1) + "\n")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--case", action="append", choices=[each.name for each in CASES + BY_HAND])
    names = asked.parse_args().case
    if not names or "process_per_key" not in names:
        leave_out_pandas()
    run([each for each in CASES + BY_HAND if each.name in names] if names else CASES)


if __name__ == "__main__":
    from bench import upsert_coordinator

    # Spark's processes import what __main__ would hide from them.
    upsert_coordinator.main()
