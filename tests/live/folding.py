"""Key coordinators in a Spark of their own, over a random history of ticks.

    python -m tests.live.folding FOLDER die|go-on

With `die` the process kills itself, as kill -9 would, when tick DIES_AT is claimed and Spark has
not committed it. With `go-on` it continues that checkpoint, and others beside it; its last line of
output is what it found, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from aggregator.upsert.checkpoint import Checkpoint, Checkpoints, CheckpointUnreadable, Identity
from aggregator.upsert.facts import FACTS, KEY_BYTES, LaneNote, note_batch
from aggregator.upsert.fold import KeyState, fold
from aggregator.upsert.tick import ROW_BITS, Tick
from aggregator.upsert.tick_posting import TickPosting, TickPostingFile
from aggregator.upsert.version import RowEnd, Version

GENERATION, PARTS, LANES = 1, 2, 2
DIES_AT, BOOTSTRAP_AT, LAST = 4, 3, 6
EMPTY_TICK = 2
SECONDS = 60.0

Row = tuple[bytes, Version]


@dataclass(frozen=True)
class History:
    """Reader of facts that are a function of a seed."""

    seed: int

    def rows(self, tick: int, lane: int) -> list[Row]:
        if tick == EMPTY_TICK:
            return []
        random = Random(f"{self.seed} {tick} {lane}")
        return [
            (
                bytes([random.randrange(40)]) * KEY_BYTES,
                Version(
                    tick * 3 + random.randrange(12),
                    lane,
                    tick * 100 + number,
                    0,
                    (tick << ROW_BITS) + lane * 100 + number,
                    random.random() < 0.2,
                ),
            )
            for number in range(random.randrange(20, 60))
        ]

    def folded(self) -> tuple[list[list[RowEnd]], list[dict[bytes, KeyState]]]:
        """Returns ends and states of all ticks, those before the first one included."""
        ends: list[list[RowEnd]] = [[]]
        states: list[dict[bytes, KeyState]] = [{}]
        for tick in range(1, LAST + 1):
            rows = [row for lane in range(LANES) for row in self.rows(tick, lane)]
            found = fold(tick, rows, states[-1])
            ends.append(found.ends)
            states.append(states[-1] | found.states)
        return ends, states

    def tick_tasks(self, posting: TickPosting, tick: Tick) -> list[tuple[str, int, int]]:
        if tick.number == EMPTY_TICK:
            return []
        return [("tick", tick.number, lane) for lane in range(LANES)]

    def bootstrap_tasks(self, generation: int, tick: int) -> list[tuple[str, int, int]]:
        return [("state", tick, lane) for lane in range(LANES)]

    def read(self, task: Any, *, is_first_attempt: bool) -> Iterator[pa.RecordBatch]:
        kind, tick, lane = task
        if kind == "state":
            state = self.folded()[1][tick]
            newest = [(key, versions[0]) for key, versions in state.items()]
            yield batch([row for row in newest if row[0][0] % LANES == lane])
            return
        rows = self.rows(tick, lane)
        yield batch(rows[:10])
        if is_first_attempt and tick == BOOTSTRAP_AT:
            raise RuntimeError("the first attempt fails")
        yield batch(rows[10:])
        yield note_batch(tick, [LaneNote(lane, len(rows))])


def batch(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"key": key, **version._asdict(), "note": None} for key, version in rows], schema=FACTS
    )


class Coordinators:
    """Coordinators of one application; each claims by a file for each tick."""

    def __init__(self, folder: Path, history: History, dies_at: int = 0) -> None:
        from replicator.spark.jvm import Jvm
        from replicator.spark.session import Session
        from replicator.spark.slots import shared_spark

        self._folder = folder
        self._history = history
        self._dies_at = dies_at
        run = folder / f"run-{os.getpid()}"
        run.mkdir()
        master, conf = shared_spark("local[1,8]", {}, query_tasks=PARTS)
        jvm = Jvm(master, run, conf, ["aggregator.upsert.key_coordinator"])
        self._session = Session(jvm)
        (folder / "jvm").write_text(str(jvm.pid))
        self._spark = self._session.sql()

    def begin(self, table: str) -> Any:
        """Returns a new checkpoint of a table."""
        found = checkpoints(self._folder, table).following()
        found.begin(identity(table))
        return found

    def start(self, table: str, checkpoint: Checkpoint, posting: TickPosting) -> Any:
        """Returns a table's coordinator, started."""
        from aggregator.upsert.key_coordinator import KeyCoordinator, TickResult

        file = TickPostingFile(self._folder / f"{table}.posting")
        file.write_reader(self._history)
        file.write(posting)

        def claim(result: TickResult) -> None:
            ends = [[*each.values()][:-1] for each in result.ends.to_pylist()]
            rows = sum(note.rows for note in result.notes)
            name = self._folder / f"{table}.{result.tick}"
            # A tick that is done again must not hide what it was before.
            name = name.with_name(name.name + ".again") if name.exists() else name
            name.write_text(json.dumps([ends, rows, result.keys]))
            if result.tick == self._dies_at:
                os.kill(os.getpid(), signal.SIGKILL)

        found = KeyCoordinator(
            self._spark, table=table, posting=file, checkpoint=checkpoint, on_tick=claim
        )
        found.start()
        return found

    def post(self, table: str, posting: TickPosting) -> None:
        TickPostingFile(self._folder / f"{table}.posting").write(posting)

    def stop(self) -> None:
        self._session.stop()


def checkpoints(folder: Path, table: str) -> Checkpoints:
    """Returns a table's checkpoints, in a folder whose name has to be quoted in a URI."""
    return Checkpoints(folder / "kept here #1 %20" / table)


def identity(table: str) -> Identity:
    return Identity("feed", table, GENERATION, PARTS)


def posting(*ticks: int, claimed: int, begin: int = 0) -> TickPosting:
    return TickPosting(
        GENERATION, begin, claimed, tuple(Tick(GENERATION, each, time_ms=0) for each in ticks)
    )


def die(folder: Path, history: History) -> None:
    """Folds ticks until the process kills itself."""
    made = Coordinators(folder, history, dies_at=DIES_AT)
    coordinator = made.start("first", made.begin("first"), posting(claimed=0))
    for tick in range(1, LAST):
        made.post("first", posting(tick, claimed=tick - 1))
        assert coordinator.wait_committed(tick, SECONDS)


def go_on(folder: Path, history: History) -> dict[str, Any]:
    """Continues the checkpoint of the process that died, and begins others; returns findings."""
    made = Coordinators(folder, history)
    found: dict[str, Any] = {}
    checkpoint = checkpoints(folder, "first").newest()
    assert checkpoint is not None
    held = checkpoint.committed(identity("first"))
    found["held"] = asdict(held) if held else None
    try:
        checkpoint.committed(identity("second"))
    except CheckpointUnreadable as error:
        found["alien"] = str(error)
    # The tick that was claimed and not committed, and the next one.
    first = made.start("first", checkpoint, posting(DIES_AT, DIES_AT + 1, claimed=DIES_AT))
    second_begun = made.begin("second")
    second = made.start("second", second_begun, posting(claimed=BOOTSTRAP_AT, begin=BOOTSTRAP_AT))
    failing = made.start("failing", made.begin("failing"), posting(1, 5, claimed=4))
    try:
        failing.wait()
    except Exception as error:
        found["failed"] = f"{type(error).__name__}: {error}"
    for tick in range(DIES_AT + 2, LAST + 1):
        made.post("first", posting(tick - 1, tick, claimed=tick - 1))
        assert first.wait_committed(tick, SECONDS)
    every = range(BOOTSTRAP_AT + 1, LAST + 1)
    made.post("second", posting(*every, claimed=LAST, begin=BOOTSTRAP_AT))
    assert second.wait_committed(LAST, SECONDS)
    # An older checkpoint than the ticks: none of them is the next one.
    older = first.stop(LAST, SECONDS)
    found["stopped"] = [older, second.stop(LAST + 1, 0.0), first.is_active, second.is_active]
    late = made.start("first", checkpoint, posting(LAST + 2, claimed=LAST + 1))
    try:
        late.wait()
    except Exception as error:
        found["older"] = str(error)
    found["keys"] = second_begun.keys()
    for file in second_begun.folder.glob("state/0/*/*"):
        if file.suffix in (".changelog", ".zip"):
            file.unlink()
    found["lost"] = []
    try:
        made.start("second", second_begun, posting(LAST, LAST + 1, claimed=LAST)).wait()
    except Exception as error:
        found["lost"].append(type(error).__name__)
    try:
        second_begun.committed(identity("second"))
    except CheckpointUnreadable as error:
        found["lost"].append(type(error).__name__)
    made.stop()
    return found


if __name__ == "__main__":
    from replicator.runtime.left_out import leave_out_pandas
    from tests.live import folding

    leave_out_pandas()
    where, mode = Path(sys.argv[1]), sys.argv[2]
    # Of the module that Spark's processes import, not of __main__.
    random_history = folding.History(int((where / "seed").read_text()))
    if mode == "die":
        folding.die(where, random_history)
    else:
        print(json.dumps(folding.go_on(where, random_history)))
