"""Continuous load as an application makes it: a process that writes numbered records, and writes
down which of them were acknowledged.

Its regional cluster may be lost: it waits. Moved to another region it goes on there, first with
what nobody has acknowledged, so such a record may be in both regions' logs.
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
# Of one partition, when its cluster does not answer: the next number waits.
PENDING_MAX = 2000
TICK_SECONDS = 0.02


@dataclass(frozen=True, slots=True, order=True)
class Numbered:
    """One record: the number that its producer gave it within a partition, and the region whose
    regional cluster it was sent to."""

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
    """What a process is told. bootstraps: of the regional clusters, by region."""

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
        """Names the region to write to, or says STOP."""
        return Path(self.directory) / f"{self.name}.wish"


class NumberedLoad:
    """One producer process. Use as a context manager: it does not outlive it."""

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
        """To the regional cluster of another region; does not wait."""
        self._wish(region)

    def stop(self) -> list[Numbered]:
        """Ends once all that was sent is acknowledged: what that is. Raises NotStarted."""
        self._wish(STOP)
        if self.process.wait(END_SECONDS_MAX + 10.0):
            raise self.process.failure("was not rid of its records")
        return self.acknowledged()

    def acknowledged(self) -> list[Numbered]:
        """So far, as acknowledgements came."""
        journal = self._order.journal
        return list(journaled(journal, self.name)) if journal.exists() else []

    def _wish(self, wish: str) -> None:
        part = self._order.wish.with_suffix(".part")
        part.write_text(wish)
        part.rename(self._order.wish)


def journaled(journal: Path, producer: str) -> Iterator[Numbered]:
    """What a journal says; a last line that is still being written is left out."""
    whole, _, _ = journal.read_text().rpartition("\n")
    for line in whole.splitlines():
        partition, number, region = line.split()
        yield Numbered(producer, int(partition), int(number), region)


class _Sender:
    """Numbers records and sends them; keeps what was not acknowledged, in order."""

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
            # What is taken back may have landed: only an acknowledgement tells.
            self._producer.purge()
            self._producer.flush(5)
        self._region = region
        self._producer = Producer(
            {
                "bootstrap.servers": self._order.bootstraps[region],
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 0,  # it waits for its cluster for as long as it takes
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
        """Else the client gives records back at once, in the first moments of a topic."""
        assert self._producer is not None
        try:
            topics = self._producer.list_topics(self._order.topic, timeout=5).topics
        except KafkaException:
            return False
        return len(topics[self._order.topic].partitions) == self._order.partitions

    def more(self, partition: int) -> bool:
        """Sends the partition's next record; False: too much is waiting."""
        if len(self._pending[partition]) >= PENDING_MAX:
            return False
        number = self._next[partition]
        self._next[partition] += 1
        self._pending[partition][number] = None
        self._send(partition, number)
        return True

    def look(self) -> None:
        """Takes acknowledgements in, and keeps them."""
        if self._producer is not None:
            self._producer.poll(0)
        self._journal.flush()

    def finish(self) -> bool:
        """Whether all that was sent is acknowledged."""
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
        # What could not be sent is not made up for in a burst.
        began_at = max(began_at, time.monotonic() - (sent + 1) / order.records_per_second)
        sender.look()
        time.sleep(TICK_SECONDS)
    return 0 if sender.finish() else 1


if __name__ == "__main__":
    # Without the interpreter's own farewell: a producer that is not rid of its records waits.
    code = main(Order(**json.loads(sys.argv[1])))
    sys.stdout.flush()
    os._exit(code)
