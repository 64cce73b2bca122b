"""Makes the archive of Spark's classes, once per installation (35 CPU s, 175 MB).

python -m aggregator.driver.class_archive

Runs Spark through the empty first epoch of a driver, which is the same for mirrors, and through a
tick of the key coordinator of a made upsert table.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pyarrow as pa

from aggregator.driver.feed_source import loader_tasks
from aggregator.driver.start import IMPORTS, UPSERT_IMPORTS
from aggregator.upsert.checkpoint import Checkpoints, Identity
from aggregator.upsert.facts import FACTS, KEY_BYTES
from aggregator.upsert.key_coordinator import KeyCoordinator
from aggregator.upsert.tick import Lane, LaneRange, Tick
from aggregator.upsert.tick_posting import TickPosting, TickPostingFile
from replicator.runtime.left_out import leave_out_pandas
from replicator.runtime.logs import log_to_stderr
from replicator.spark.archive_options import archive_path
from replicator.spark.epoch_runner import EpochRunner
from replicator.spark.jvm import Jvm
from replicator.spark.session import Session

EXIT_SECONDS = 300.0
TICK_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class OneFact:
    """Reader whose ticks have one row, of the same key (see FactReader)."""

    def tick_tasks(self, posting: TickPosting, tick: Tick) -> Sequence[int]:
        return (tick.number,)

    def bootstrap_tasks(self, generation: int, tick: int) -> Sequence[int]:
        return ()

    def read(self, task: int, *, is_first_attempt: bool) -> Iterator[pa.RecordBatch]:
        row = {"key": bytes(KEY_BYTES), "order": task, "lane": 0, "offset": task, "row": 0}
        rows = [{**row, "row_id": task, "is_delete": False, "note": None}]
        yield pa.RecordBatch.from_pylist(rows, schema=FACTS)


def fold_tick(session: Session, folder: Path) -> None:
    """Folds a tick. Raises what the key coordinator raises."""
    posting = TickPostingFile(folder / "posting")
    posting.write_reader(OneFact())
    posting.write(TickPosting(1, 0, 0))
    checkpoint = Checkpoints(folder / "checkpoint").following()
    checkpoint.begin(Identity("made", "table", generation=1, parts=1))
    coordinator = KeyCoordinator(
        session.sql(),
        table="made.table",
        posting=posting,
        checkpoint=checkpoint,
        on_tick=lambda result: None,
    )
    coordinator.start()
    lane = Lane("made", "topic", UUID(int=0), 0)
    tick = Tick(1, 1, 0, (lane,), (LaneRange(0, 1),))
    posting.write(TickPosting(1, 0, 0, (tick,)))
    coordinator.wait_committed(1, TICK_SECONDS)
    coordinator.stop(1, 0.0)


def make(
    path: Path,
    jvm_type: Callable[..., Jvm] = Jvm,
    session_type: Callable[..., Session] = Session,
    runner_type: Callable[..., EpochRunner] = EpochRunner,
    fold: Callable[[Session, Path], None] = fold_tick,
) -> Path:
    """Makes the archive anew and returns its path; a JVM that uses the old one keeps it.

    Args:
        fold: folds a tick in a folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    dumping = f"-Xlog:disable -XX:ArchiveClassesAtExit={unfinished}"
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        none = folder / "none"
        with jvm_type("local[2,8]", folder, {}, (*IMPORTS, *UPSERT_IMPORTS), dumping) as jvm:
            session = session_type(jvm)
            runner = runner_type(
                session.context,
                loader_tasks(none, none),
                slots=2,
                receipts=None,
            )
            runner.wait_warm()
            runner.stop()
            fold(session, folder)
            session.stop(EXIT_SECONDS)
    return unfinished.replace(path)


def main() -> None:
    log_to_stderr()
    leave_out_pandas()
    print(make(archive_path()))


if __name__ == "__main__":
    from aggregator.driver import class_archive

    # Spark's processes import the reader of facts, which __main__ would hide from them.
    class_archive.main()
