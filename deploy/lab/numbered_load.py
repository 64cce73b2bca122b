"""Continuous load of an application: a process that produces numbered records, and journals the
acknowledged ones.

The process waits while its regional cluster is lost. After a move to another region it first sends
all unacknowledged records again, so such a record may be in both regions' logs.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from deploy.lab.kafka import CHECKOUT
from deploy.lab.lab import LabRegion
from deploy.lab.process import Process

STOP = "stop"
END_SECONDS_MAX = 60.0
# Limit of unacknowledged records per partition; no further number is given beyond it.
PENDING_MAX = 2000
TICK_SECONDS = 0.02


@dataclass(frozen=True, slots=True, order=True)
class Numbered:
    """Identity of a record: its producer's number within a partition, and the region of the
    regional cluster that it was sent to."""

    producer: str
    partition: int
    number: int
    region: str

    def encode(self, size_bytes: int = 0) -> bytes:
        text = f"{self.producer}|{self.partition}|{self.number}|{self.region}|".encode()
        return text.ljust(size_bytes, b".")

    @classmethod
    def decode(cls, value: bytes) -> "Numbered":
        producer, partition, number, region, _ = value.decode().split("|")
        return cls(producer, int(partition), int(number), region)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Arguments of a load process. `bootstraps`: of the regional clusters, by region."""

    name: str
    topic: str
    partitions: int
    records_per_second: float
    bootstraps: dict[str, str]
    directory: str
    record_bytes: int = 100

    @property
    def journal(self) -> Path:
        return Path(self.directory) / f"{self.name}.acknowledged"

    @property
    def wish(self) -> Path:
        """File with the name of the region to write to, or with STOP."""
        return Path(self.directory) / f"{self.name}.wish"


class NumberedLoad:
    """A producer process. Use as a context manager: the process ends with the block."""

    def __init__(
        self,
        name: str,
        region: str,
        regions: dict[str, LabRegion],
        directory: Path,
        *,
        topic: str,
        partitions: int,
        records_per_second: float,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.topic = topic
        self._order = Order(
            name=name,
            topic=topic,
            partitions=partitions,
            records_per_second=records_per_second,
            bootstraps={each: found.regional.bootstrap for each, found in regions.items()},
            directory=str(directory),
        )
        self._wish(region)
        self.process = Process(
            f"load {name}",
            [sys.executable, "-m", "deploy.lab.numbered_load", json.dumps(asdict(self._order))],
            directory / f"{name}.log",
            environment={"PYTHONPATH": str(CHECKOUT)},
        )

    def __enter__(self) -> "NumberedLoad":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()

    def move(self, region: str) -> None:
        """Moves the load to the regional cluster of another region; does not wait."""
        self._wish(region)

    def stop(self) -> list[Numbered]:
        """Ends the process once everything sent is acknowledged. Returns the acknowledged records.

        Raises NotStarted.
        """
        self._wish(STOP)
        if self.process.wait(END_SECONDS_MAX + 10.0):
            raise self.process.failure("was not rid of its records")
        return self.acknowledged()

    def acknowledged(self) -> list[Numbered]:
        """Returns the records acknowledged so far, in the order of acknowledgment."""
        journal = self._order.journal
        return list(journaled(journal, self.name)) if journal.exists() else []

    def _wish(self, wish: str) -> None:
        part = self._order.wish.with_suffix(".part")
        part.write_text(wish)
        part.rename(self._order.wish)


def journaled(journal: Path, producer: str) -> Iterator[Numbered]:
    """Yields the records of a journal, without a last line that is still being written."""
    whole, _, _ = journal.read_text().rpartition("\n")
    for line in whole.splitlines():
        partition, number, region = line.split()
        yield Numbered(producer, int(partition), int(number), region)


class _Sender:
    """Numbers records and sends them; keeps unacknowledged ones in order."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._journal = order.journal.open("a")
        self._next = [0] * order.partitions
        self._pending: list[dict[int, None]] = [{} for _ in range(order.partitions)]
        self._region = ""
        self._producer: Producer | None = None

    def move(self, region: str) -> None:
        if region == self._region:
            return
        if self._producer is not None:
            # Purged records may have landed: only an acknowledgment tells.
            self._producer.purge()
            self._producer.flush(5)
        self._region = region
        self._producer = Producer(
            {
                "bootstrap.servers": self._order.bootstraps[region],
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 0,  # waits for its cluster without limit
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        while not self._knows_partitions():
            time.sleep(TICK_SECONDS)
        for partition, numbers in enumerate(self._pending):
            for number in numbers:
                self._send(partition, number)

    def _knows_partitions(self) -> bool:
        """Returns True once all partitions are known; until then the client fails records at
        once."""
        assert self._producer is not None
        try:
            topics = self._producer.list_topics(self._order.topic, timeout=5).topics
        except KafkaException:
            return False
        return len(topics[self._order.topic].partitions) == self._order.partitions

    def more(self, partition: int) -> bool:
        """Sends the partition's next record. Returns False if too many records are
        unacknowledged."""
        if len(self._pending[partition]) >= PENDING_MAX:
            return False
        number = self._next[partition]
        self._next[partition] += 1
        self._pending[partition][number] = None
        self._send(partition, number)
        return True

    def look(self) -> None:
        """Receives acknowledgments, and writes them to the journal."""
        if self._producer is not None:
            self._producer.poll(0)
        self._journal.flush()

    def finish(self) -> bool:
        """Flushes, and returns True if all sent records are acknowledged."""
        if self._producer is not None:
            self._producer.flush(END_SECONDS_MAX)
        self._journal.flush()
        return not any(self._pending)

    def _send(self, partition: int, number: int) -> None:
        assert self._producer is not None
        region = self._region
        record = Numbered(self._order.name, partition, number, region)

        def on_delivery(error: KafkaError | None, _: Message) -> None:
            if error is None:
                del self._pending[partition][number]
                self._journal.write(f"{partition} {number} {region}\n")
            elif error.code() not in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT):
                print(f"{record}: {error}", flush=True)

        self._producer.produce(
            self._order.topic,
            record.encode(self._order.record_bytes),
            self._order.name,
            partition,
            on_delivery=on_delivery,
        )


def main(order: Order) -> int:
    sender = _Sender(order)
    began_at, sent = time.monotonic(), 0
    while (wish := order.wish.read_text()) != STOP:
        sender.move(wish)
        due = int((time.monotonic() - began_at) * order.records_per_second)
        while sent < due and sender.more(sent % order.partitions):
            sent += 1
        # Records that could not be sent in time are not made up for in a burst.
        began_at = max(began_at, time.monotonic() - (sent + 1) / order.records_per_second)
        sender.look()
        time.sleep(TICK_SECONDS)
    return 0 if sender.finish() else 1


if __name__ == "__main__":
    # Skips the interpreter's shutdown, which would wait for a producer with unacknowledged records.
    code = main(Order(**json.loads(sys.argv[1])))
    sys.stdout.flush()
    os._exit(code)
