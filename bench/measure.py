"""Cost and speed of a system: CPU and memory of whole process trees, and the target's log ends.

The system under test is Spark's JVM, its Python workers and the daemon, or MirrorMaker's JVM. The
brokers' CPU time is counted separately: on one machine it limits the rate. The bench itself is not
counted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil
from confluent_kafka import Consumer, TopicPartition

from bench.ground import Ground, log_end, say
from bench.mirror import Mirror

LOOK_SECONDS = 0.1
TREE_SECONDS = 0.5
SAY_SECONDS = 5.0
START_SECONDS_MAX = 150.0
SILENCE_SECONDS_MAX = 30.0
# A JVM is slow at first, so the steady window begins later.
WARM_SHARE = 0.2
WARM_SECONDS_MAX = 12.0
SHARE_OFFSETS = 40_000


class NothingArrives(Exception):
    """The system under test carries nothing, or nothing more. The message has the end of its
    log."""


@dataclass(frozen=True, slots=True)
class Window:
    """A period of steady work."""

    records: float
    seconds: float
    cpu_seconds: float
    peak_rss_mb: float
    brokers_cpu_seconds: float = 0.0
    """CPU time of both clusters' brokers, not included in cpu_seconds."""

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds

    @property
    def cpu_seconds_per_million(self) -> float:
        return self.cpu_seconds / self.records * 1e6

    @property
    def brokers_cpu_seconds_per_million(self) -> float:
        return self.brokers_cpu_seconds / self.records * 1e6


class Tree:
    """A process and its descendants, including those that ended since the last look."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._cpu_seconds: dict[psutil.Process, float] = {}
        self.peak_rss_mb = 0.0
        self._looked_at = 0.0

    def cpu_seconds(self) -> float:
        """Returns user and system time of all processes so far, in seconds."""
        rss = 0
        for process in self._members():
            try:
                times = process.cpu_times()
                rss += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
            self._cpu_seconds[process] = times.user + times.system
        self.peak_rss_mb = max(self.peak_rss_mb, rss / 1e6)
        self._looked_at = time.monotonic()
        return sum(self._cpu_seconds.values())

    def look(self) -> None:
        """Updates peak and members; cheap when called often."""
        if time.monotonic() - self._looked_at >= TREE_SECONDS:
            self.cpu_seconds()

    def _members(self) -> list[psutil.Process]:
        try:
            return [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


@dataclass(frozen=True, slots=True)
class _Mark:
    at: float
    records: int
    cpu_seconds: float
    brokers_cpu_seconds: float


def throughput(
    ground: Ground, mirror: Mirror, expected: int, *, seconds_max: float, has_markers: bool
) -> Window:
    """Returns the steady window of a started mirror that has `expected` records to carry.

    The window begins when a fifth of the records has arrived, or 12 s after the first. It ends with
    the last record, or after seconds_max. With markers, log ends are corrected by the fraction of
    records in the log.
    """
    tree = Tree(mirror.process.pid)
    brokers = [
        Tree(process.pid)
        for cluster in (ground.source, ground.target)
        for process in cluster.processes.values()
    ]

    def mark() -> _Mark:
        spent = sum(broker.cpu_seconds() for broker in brokers)
        return _Mark(now, arrived, tree.cpu_seconds(), spent)

    watch = Watch(ground, mirror)
    began_at, said_at = time.monotonic(), 0.0
    first_at = None
    begin: _Mark | None = None
    while True:
        arrived = watch.look()
        now = time.monotonic()
        tree.look()
        if arrived and first_at is None:
            first_at = now
            say(f"  first record after {now - began_at:.1f} s")
        is_warm = arrived >= expected * WARM_SHARE or (
            first_at is not None and now - first_at > WARM_SECONDS_MAX
        )
        if begin is None and is_warm:
            begin = mark()
        if arrived >= expected or (begin and now - begin.at >= seconds_max):
            break
        if now - said_at > SAY_SECONDS and arrived:
            say(f"  {arrived:,} of {expected:,}")
            said_at = now
        time.sleep(LOOK_SECONDS)
    end = mark()
    if begin is None or end.records <= begin.records:
        raise NothingArrives("too few records to measure anything: load more")
    share = record_share(ground, mirror.target_topic) if has_markers else 1.0
    return Window(
        (end.records - begin.records) * share,
        end.at - begin.at,
        end.cpu_seconds - begin.cpu_seconds,
        tree.peak_rss_mb,
        end.brokers_cpu_seconds - begin.brokers_cpu_seconds,
    )


class Watch:
    """Log end of the target, with a check that it still grows."""

    def __init__(self, ground: Ground, mirror: Mirror) -> None:
        self._admin = ground.target.admin()
        self._mirror = mirror
        self._arrived = 0
        self._moved_at = time.monotonic()

    def look(self) -> int:
        """Returns the log end. Raises NothingArrives if the mirror has ended, or nothing arrives
        for too long."""
        process = self._mirror.process
        if not process.is_running():
            raise NothingArrives(str(process.failure("has ended")))
        arrived = log_end(self._admin, self._mirror.target_topic)
        if arrived != self._arrived:
            self._arrived, self._moved_at = arrived, time.monotonic()
        patience = SILENCE_SECONDS_MAX if arrived else START_SECONDS_MAX
        if self.quiet_seconds > patience:
            raise NothingArrives(str(process.failure(f"has moved nothing for {patience:.0f} s")))
        return arrived

    @property
    def quiet_seconds(self) -> float:
        return time.monotonic() - self._moved_at


def record_share(ground: Ground, topic: str) -> float:
    """Returns the fraction of a log's offsets that are records; the others are transaction
    markers."""
    consumer = Consumer(
        {
            **ground.target.librdkafka_options(),
            "group.id": "bench",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        seen, last = 0, -1
        while last < SHARE_OFFSETS:
            messages = consumer.consume(5000, timeout=3.0)
            if not messages:
                break
            seen += len(messages)
            last = messages[-1].offset() or 0
        return seen / (last + 1) if seen else 1.0
    finally:
        consumer.close()
