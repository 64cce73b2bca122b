"""Test application: a member of a consumer group whose effects are rows of a database.

A process reads topics of a region's aggregate and stores every record that it handles, in the order
of handling. Each batch is one SQLite transaction; offsets are committed after it. The next process
of the application may run in another region with the same database.
"""

import json
import signal
import sqlite3
import sys
import threading
import time
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from confluent_kafka import Consumer, KafkaException, Message

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import CHECKOUT
from deploy.lab.lab import LabRegion
from deploy.lab.numbered_load import Numbered
from deploy.lab.process import Process
from deploy.lab.wait import until
from replicator.groups.resume import ResumingConsumer

Means = Literal["plain", "helper", "stored"]
"""How the application continues in another region: with a plain consumer, with Sluice's helper, or
with the helper and a vector that is stored with the effects."""

BATCH_RECORDS = 500
POLL_SECONDS = 0.1
END_SECONDS_MAX = 60.0
READING = "reads"

SCHEMA = """
CREATE TABLE IF NOT EXISTS handled (
    id INTEGER PRIMARY KEY, region TEXT, topic TEXT, partition INTEGER, offset INTEGER,
    producer TEXT, number INTEGER, origin TEXT, at REAL
);
CREATE TABLE IF NOT EXISTS vectors (
    topic TEXT, partition INTEGER, origin TEXT, offset INTEGER,
    PRIMARY KEY (topic, partition, origin)
);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Arguments of an application process."""

    group: str
    region: str
    bootstrap: str
    topics: tuple[str, ...]
    database: str
    means: Means = "plain"
    configuration: str = ""
    """Path of the configuration of Sluice, for its helper."""
    commit_seconds: float = 0.5


class Effect(NamedTuple):
    """Effect of one record in the database: where it was read, and when (Unix time in seconds)."""

    region: str
    offset: int
    at: float
    record: Numbered


class Application:
    """Processes of one application, one at a time. Use as a context manager.

    Args:
        name: of the application; needed if two applications share a group. Default: the group.
    """

    def __init__(
        self,
        group: str,
        directory: Path,
        topics: tuple[str, ...],
        *,
        means: Means = "plain",
        configuration: Path | None = None,
        commit_seconds: float = 0.5,
        name: str | None = None,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.group = group
        self.name = name or group
        self.database = directory / f"{self.name}.sqlite"
        self._log = directory / f"{self.name}.log"
        self._topics = topics
        self._means: Means = means
        self._configuration = str(configuration or "")
        self._commit_seconds = commit_seconds
        self._process: Process | None = None
        self._starts = 0
        with closing(sqlite3.connect(self.database)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(SCHEMA)

    def __enter__(self) -> "Application":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self, region: LabRegion) -> None:
        """Starts a process that continues in this region; does not wait."""
        self.kill()
        order = Order(
            group=self.group,
            region=region.name,
            bootstrap=region.aggregate.bootstrap,
            topics=self._topics,
            database=str(self.database),
            means=self._means,
            configuration=self._configuration,
            commit_seconds=self._commit_seconds,
        )
        self._starts = self._log.read_text().count(READING) + 1 if self._log.exists() else 1
        self._process = Process(
            f"application {self.name}",
            [sys.executable, "-m", "deploy.lab.application", json.dumps(asdict(order))],
            self._log,
            environment={"PYTHONPATH": str(CHECKOUT)},
        )

    def kill(self) -> None:
        """Sends kill -9. Records handled since the last commit will be read again."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def stop(self) -> None:
        """Ends the process after it commits all that it handled. Raises NotStarted."""
        assert self._process is not None, "start() it first"
        process, self._process = self._process, None
        # Before its first read the process has no handler, and SIGTERM ends it at once.
        until(lambda: self._has_begun() or not process.is_running(), END_SECONDS_MAX)
        process.terminate()
        if process.wait(END_SECONDS_MAX):
            raise process.failure("did not end in peace")

    def _has_begun(self) -> bool:
        return self._log.read_text(errors="replace").count(READING) >= self._starts

    def look_alive(self) -> None:
        """Raises NotStarted if the process has ended by itself."""
        if self._process is not None and not self._process.is_running():
            raise self._process.failure("has ended")

    def effects(self, region: str | None = None) -> list[Effect]:
        """Returns the effects in the order of handling, of one region or (None) of all."""
        with closing(sqlite3.connect(self.database)) as database:
            rows = database.execute(
                "SELECT region, offset, at, producer, partition, number, origin FROM handled"
                " WHERE ?1 IS NULL OR region = ?1 ORDER BY id",
                (region,),
            )
            return [Effect(where, offset, at, Numbered(*row)) for where, offset, at, *row in rows]

    def handled(self, region: str | None = None) -> list[Numbered]:
        """Returns the records in the order of handling, of one region or (None) of all."""
        return [effect.record for effect in self.effects(region)]

    def handled_count(self) -> int:
        with closing(sqlite3.connect(self.database)) as database:
            (count,) = database.execute("SELECT count(*) FROM handled").fetchone()
            return int(count)


class Member(Protocol):
    """Consumer of the application: how it reads and commits."""

    def consume(self) -> list[Message]: ...

    def store(self) -> None:
        """Stores what belongs to the effects, within their transaction."""

    def commit(self) -> None:
        """Commits everything that was consumed. Raises KafkaException."""

    def close(self) -> None: ...


class Plain:
    """Consumer of any ordinary application: its database first, then the offsets."""

    def __init__(self, order: Order) -> None:
        self._consumer = Consumer(_options(order))
        self._consumer.subscribe(list(order.topics))

    def consume(self) -> list[Message]:
        return self._consumer.consume(BATCH_RECORDS, POLL_SECONDS)

    def store(self) -> None:
        pass

    def commit(self) -> None:
        positions = self._consumer.position(self._consumer.assignment())
        if places := [place for place in positions if place.offset >= 0]:
            self._consumer.commit(offsets=places, asynchronous=False)

    def close(self) -> None:
        self._consumer.close()


class Helped:
    """Consumer with Sluice's helper, which skips records that were read in another region."""

    def __init__(self, order: Order) -> None:
        self._consumer = self._made(order)
        self._consumer.subscribe(list(order.topics))

    def _made(self, order: Order) -> ResumingConsumer:
        return ResumingConsumer(_options(order), region=order.region, appliance=order.configuration)

    def consume(self) -> list[Message]:
        return self._consumer.consume(BATCH_RECORDS, POLL_SECONDS)

    def store(self) -> None:
        pass

    def commit(self) -> None:
        self._consumer.commit(asynchronous=False)

    def close(self) -> None:
        self._consumer.close()


class Stored(Helped):
    """Consumer with the helper, and with the vector stored among the effects."""

    def __init__(self, order: Order, database: sqlite3.Connection) -> None:
        self._database = database
        super().__init__(order)

    def _made(self, order: Order) -> ResumingConsumer:
        return ResumingConsumer(
            _options(order),
            region=order.region,
            appliance=order.configuration,
            stored_vectors=self._read,
        )

    def store(self) -> None:
        self._database.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)",
            [
                (*place, origin, offset)
                for place, vector in self._consumer.vectors().items()
                for origin, offset in vector.items()
            ],
        )

    def _read(self, _: object) -> dict[TopicPartition, dict[str, int]]:
        found: dict[TopicPartition, dict[str, int]] = {}
        rows = self._database.execute("SELECT topic, partition, origin, offset FROM vectors")
        for topic, partition, origin, offset in rows:
            found.setdefault(TopicPartition(topic, partition), {})[origin] = offset
        return found


def member_of(order: Order, database: sqlite3.Connection) -> Member:
    match order.means:
        case "plain":
            return Plain(order)
        case "helper":
            return Helped(order)
        case "stored":
            return Stored(order, database)


def _options(order: Order) -> dict[str, str | int | bool]:
    return {
        "bootstrap.servers": order.bootstrap,
        "group.id": order.group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6000,
        "reconnect.backoff.max.ms": 500,
        "fetch.wait.max.ms": 50,
        "topic.metadata.refresh.interval.ms": 1000,
        "log_level": 0,
    }


def handle(order: Order, database: sqlite3.Connection, member: Member) -> None:
    """Handles one batch, with its effects in one transaction."""
    # Errors mean a broker that is away or a topic that does not exist yet; the client retries.
    messages = [message for message in member.consume() if message.error() is None]
    if not messages:
        return
    database.execute("BEGIN")
    for message in messages:
        record = Numbered.decode(message.value() or b"")
        database.execute(
            "INSERT INTO handled (region, topic, partition, offset, producer, number, origin, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(order.region, message.topic(), message.partition(), message.offset()),
                *(record.producer, record.number, record.region, time.time()),
            ),
        )
    member.store()
    database.execute("COMMIT")


def main(order: Order) -> int:
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    with closing(sqlite3.connect(order.database, isolation_level=None)) as database:
        member = member_of(order, database)
        print(READING, flush=True)
        committed_at = time.monotonic()
        while not over.is_set():
            handle(order, database, member)
            if time.monotonic() - committed_at >= order.commit_seconds:
                # If the cluster is away for a moment, the next commit covers this one.
                with suppress(KafkaException):
                    member.commit()
                committed_at = time.monotonic()
        member.commit()
        member.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Order(**json.loads(sys.argv[1]))))
