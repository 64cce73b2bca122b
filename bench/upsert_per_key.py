"""The alternative of decision 0104: keys coordinated by transformWithState, a process for each.

bench.upsert_coordinator's case `process_per_key` runs it on the facts of the other cases.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aggregator.upsert.checkpoint import Checkpoint
from aggregator.upsert.tick_posting import TickPostingFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class PerKey:
    """The alternative: transformWithState, with the newest version of each key as its value."""

    def __init__(self, session: Any, posting: TickPostingFile, checkpoint: Checkpoint) -> None:
        self.session = session
        self.posting = posting
        self.checkpoint = checkpoint

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
            .option(POSTING, str(self.posting.path))
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
            .option("checkpointLocation", self.checkpoint.folder.as_uri())
            .foreachBatch(count_rows)
            .start()
        )

    def wait_committed(self, tick: int, seconds: float) -> bool:
        until = time.monotonic() + seconds
        identity = self.checkpoint.identity()
        while time.monotonic() < until:
            found = self.checkpoint.committed(identity)
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
