"""A loader process that ends, or stops, at a named step of a block's way.

    python -m tests.live.feed_steps TOLD STEP NTH KILL|STOP

At the nth time that the step is reached, the process sends itself the signal: SIGKILL, as a power
cut would, or SIGSTOP, which makes it a zombie until the test sends SIGCONT.
"""

from __future__ import annotations

import asyncio
import pickle
import select
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from clickhouse_driver.protocol import ClientPacketTypes
from clickhouse_driver.varint import write_varint
from clickhouse_driver.writer import write_binary_str

from aggregator.loader.formed_block import FormedBlock
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.loader import load
from aggregator.loader.loader_assembly import assemble
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.loader_session import LoaderSession
from aggregator.loader.produced import Produced
from aggregator.loader.receipts import BlockReceipts
from aggregator.store import insertion
from aggregator.tables.native_block import NativeBlock
from balancer.topic_partition import TopicPartition
from deploy.lab.process import Process
from replicator.config.topology import Appliance
from replicator.kafka.client.connection import Connection
from replicator.runtime.logs import log_to_stderr
from tests.live.feed_ground import FeedGround
from tests.live.loader_process import CHECKOUT


class Step(StrEnum):
    """Steps of a block's way, in their order."""

    INTENT_WANTED = "intent-wanted"
    LETTERS_SENT = "letters-sent"
    INTENT_COMMITTED = "intent-committed"
    QUERY_SENT = "query-sent"
    """The server waits for the block's data."""
    HALF_SENT = "half-sent"
    BLOCK_SENT = "block-sent"
    STORED = "stored"
    """The server has answered, and nobody has read the answer."""
    ACKNOWLEDGED = "acknowledged"
    FLUSH_WANTED = "flush-wanted"
    FLUSH_COMMITTED = "flush-committed"
    RELEASE_WANTED = "release-wanted"
    RELEASED = "released"
    REPEAT_WANTED = "repeat-wanted"
    REPEATED = "repeated"


class Ending:
    """Signal that this process sends itself at the nth time that a step is reached."""

    def __init__(self, step: Step, nth: int, number: signal.Signals) -> None:
        self._step, self._left, self._number = step, nth, number

    def is_next(self, step: Step) -> bool:
        """Returns True if the signal is sent when this step is reached once more."""
        return step is self._step and self._left == 1

    def reach(self, step: Step) -> None:
        if step is self._step:
            self._left -= 1
            if not self._left:
                # To this thread: after a SIGSTOP to the process, which another thread may take, it
                # would go on for some milliseconds, and send the rest of its block.
                signal.pthread_kill(threading.get_ident(), self._number)


class SteppedIntents:
    """Intent committer of a session that tells which step is reached."""

    def __init__(self, intents: Any, ending: Ending) -> None:
        self._intents, self._reach = intents, ending.reach

    def __getattr__(self, name: str) -> Any:
        return getattr(self._intents, name)

    async def commit(self, partition: HeldPartition, *produced: Sequence[Produced]) -> None:
        is_flush = partition.progress.is_flushed
        self._reach(Step.FLUSH_WANTED if is_flush else Step.INTENT_WANTED)
        await self._intents.commit(partition, *produced)
        self._reach(Step.FLUSH_COMMITTED if is_flush else Step.INTENT_COMMITTED)

    async def release(
        self, partitions: Mapping[TopicPartition, HeldPartition], free_id: str
    ) -> None:
        self._reach(Step.RELEASE_WANTED)
        await self._intents.release(partitions, free_id)
        self._reach(Step.RELEASED)


class SteppedTables:
    """Block store of a session that tells which step is reached."""

    def __init__(self, tables: Any, ending: Ending) -> None:
        self._tables, self._reach = tables, ending.reach

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tables, name)

    async def load(self, place: TopicPartition, block: FormedBlock, *, is_doubtful: bool) -> None:
        if is_doubtful:
            self._reach(Step.REPEAT_WANTED)
        await self._tables.load(place, block, is_doubtful=is_doubtful)
        self._reach(Step.REPEATED if is_doubtful else Step.ACKNOWLEDGED)


def watch_inserts(ending: Ending) -> None:
    """Makes the inserts of this process tell how far their data are."""
    check, send = insertion._check, insertion._send

    def checked(expected: list[tuple[str, str]], block: NativeBlock) -> None:
        check(expected, block)
        ending.reach(Step.QUERY_SENT)

    def watched(connection: Any, block: NativeBlock) -> None:
        if block.rows:
            if ending.is_next(Step.HALF_SENT):
                _send_half(connection, block)
            ending.reach(Step.HALF_SENT)
        send(connection, block)
        if not block.rows:
            ending.reach(Step.BLOCK_SENT)
            if ending.is_next(Step.STORED):
                select.select([connection.socket], [], [], 60)
            ending.reach(Step.STORED)

    insertion._check, insertion._send = checked, watched


def _send_half(connection: Any, block: NativeBlock) -> None:
    """Sends the first half of a block's bytes; the connection is of no use afterwards."""
    data = block.bytes_of(revision=connection.server_info.used_revision)
    write_varint(ClientPacketTypes.DATA, connection.fout)
    write_binary_str("", connection.fout)
    connection.block_out.fout.write(data[: len(data) // 2])
    connection.block_out.fout.flush()


def watch_letters(ending: Ending) -> None:
    """Makes the produce requests of this process, which carry dead letters, tell of answers."""
    send = Connection.send

    def watched(connection: Any, request: Any, expect_response: bool = True) -> Any:
        answer = send(connection, request, expect_response)
        if type(request).__name__ != "ProduceRequest":
            return answer

        async def answered() -> Any:
            found = await answer
            ending.reach(Step.LETTERS_SENT)
            return found

        return answered()

    Connection.send = watched  # type: ignore[method-assign]


def stepped(ending: Ending) -> Callable[..., LoaderSession]:
    """Returns an assembly whose sessions tell which step is reached."""

    def assembled(
        appliance: Appliance,
        assignment: LoaderAssignment,
        receipts: BlockReceipts,
        loader_counts: LoaderCounts,
    ) -> LoaderSession:
        session = assemble(appliance, assignment, receipts, loader_counts)
        session.intents = SteppedIntents(session.intents, ending)  # type: ignore[assignment]
        forming: Any = session.sink.forming
        forming.committer = session.intents
        forming.store = SteppedTables(forming.store, ending)
        return session

    return assembled


def begin_with_end(
    feed: FeedGround,
    step: Step,
    nth: int = 1,
    number: signal.Signals = signal.SIGKILL,
    partitions: Sequence[int] | None = None,
    loader: int = 0,
) -> Process:
    """Starts a loader of the feed that ends or stops at a step."""
    told = feed.config.with_name(f"steps-{len(feed._processes)}")
    told.write_bytes(pickle.dumps((feed.appliance, feed.assignment(loader, partitions))))
    command = [sys.executable, "-m", "tests.live.feed_steps", str(told)]
    process = Process(
        f"loader-until-{step}",
        [*command, step, str(nth), number.name],
        told.with_suffix(".log"),
        environment={"PYTHONPATH": str(CHECKOUT)},
    )
    feed._processes.append(process)
    return process


def main(told: Path, step: Step, nth: int, number: signal.Signals) -> None:
    # Written by begin_with_end only, so that unpickling is safe.
    appliance, assignment = pickle.loads(told.read_bytes())
    log_to_stderr()
    ending = Ending(step, nth, number)
    watch_inserts(ending)
    watch_letters(ending)
    asyncio.run(load(appliance, assignment, stepped(ending)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Step(sys.argv[2]), int(sys.argv[3]), signal.Signals[sys.argv[4]])
