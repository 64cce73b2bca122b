"""Routes carried between real clusters: adopted, told by a driver's word, awaited, taken apart.

Carriers run on an event loop of their own thread, so a test reads from top to bottom. Every
`Carrying` has regions of its own names, and so its own ledger, ids and runs topic, on clusters
that others use as well.
"""

from __future__ import annotations

import asyncio
import itertools
import pickle
import sys
import threading
import time
import uuid
from collections.abc import Awaitable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import NewTopic, OffsetSpec

from balancer.plan import TopicPartition
from deploy.lab.dump import BOTH, PartitionDump, compare_dumps, dump
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import Process
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import PLAIN, Shape, records, send
from deploy.lab.wait import until
from replicator.carrier.accept_loss import Acceptance, Accepted
from replicator.carrier.assignment import Assignment
from replicator.carrier.carrier import carry
from replicator.carrier.receipts import Receipt
from replicator.config.topology import Appliance, Route
from replicator.driver.adoption import merged
from replicator.driver.own_topics import make_own_topics
from replicator.kafka.cluster import Cluster
from replicator.ledger.entry import Custody, Entry
from replicator.ledger.ledger import Ledger, virgin
from replicator.ledger.word import Driver
from replicator.offsets.offset_map import OffsetMap
from replicator.offsets.offset_store import OffsetStore
from replicator.offsets.runs_topic import read, rebuild
from replicator.topics.admin import Admin

T = TypeVar("T")

CHECKOUT = Path(__file__).parents[2]
PATIENCE_SECONDS = 120.0
TARGET = "home"
QUICK: Mapping[str, object] = {
    "ledger_seconds": 0.2,
    "runs_seconds": 0.1,
    "word_poll_seconds": 0.05,
    "drain_seconds": 10.0,
}
"""A test waits for the ledger to say what was carried: often, not every five seconds."""


class Carrying:
    """All routes of some sources into one target.

    Args:
        sources: clusters by region name.
        start: of partitions never carried before.
        max_message_bytes: by topic, where the target takes something else than Kafka's default.
        replication_factor: of our own topics.
        settings: of the [replicator] table, over QUICK.
    """

    def __init__(
        self,
        sources: Mapping[str, KafkaCluster],
        target: KafkaCluster,
        redis: RedisServer,
        *,
        start: str | int = "earliest",
        max_message_bytes: Mapping[str, int] | None = None,
        replication_factor: int = 1,
        **settings: object,
    ) -> None:
        mark = uuid.uuid4().hex[:8]
        self.sources, self.target, self.redis = dict(sources), target, redis
        self._home = f"{TARGET}-{mark}"
        self.routes = {name: Route(f"{name}-{mark}", self._home) for name in sources}
        self.appliance = _appliance(self.routes, self, start, {**QUICK, **settings})
        self.topics: dict[str, int] = {}
        self.plan_version = 0
        self.receipts: list[Receipt] = []
        self._limits = tuple((max_message_bytes or {}).items())
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._cluster = Cluster("target", self.appliance.region(self._home).aggregate)
        self._ledgers = {name: Ledger(self._cluster, route) for name, route in self.routes.items()}
        self._running: list[Future[list[Receipt]]] = []
        self._processes: list[Process] = []
        self._carriers: set[object] = set()
        self._writers_before: set[tuple[int, int]] = set()
        make_own_topics(
            Admin(self._home, self.appliance.region(self._home).aggregate),
            self.routes.values(),
            replication_factor,
        )
        self._await(self._cluster.open())
        self._driver = Driver(self._cluster, self._home)
        self._await(self._driver.open())

    def __enter__(self) -> Carrying:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            for process in self._processes:
                process.kill()
            for carrier in self._running:
                carrier.cancel()
            self._await(self._cluster.close())
            self._await(self._settled())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _settled(self) -> None:
        """What was cancelled has also come to its end."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if left:
            await asyncio.wait(left, timeout=20)
        ends = (self.target, *self.sources.values())
        if any(end.credentials.uses_tls for end in ends):
            await asyncio.sleep(0.5)  # TLS says goodbye in the background

    # -- what a driver does

    def adopt(self, topic: str, partitions: int = 1) -> None:
        """Virgin entries of all routes for the partitions that have none yet."""
        begin = self.topics.get(topic, 0)
        new = [TopicPartition(topic, number) for number in range(begin, partitions)]
        self._cluster.watch([topic])
        self._await(self._cluster.refresh())
        commits = []
        for ledger in self._ledgers.values():
            commits.append(ledger.offsets({place: virgin(ledger, 0) for place in new}))
            commits.append(ledger.witness(topic, partitions))
        self._await(self._driver.commit(merged(commits)))
        self.topics[topic] = partitions

    def begin(self, *, carriers: int = 1) -> None:
        """The next plan: carriers of every route share all adopted partitions."""
        self.plan_version += 1
        self._await(self._driver.say(self.plan_version))
        for assignment in self._assignments(carriers):
            self._running.append(self._spawn(self._carried(assignment)))

    async def _carried(self, assignment: Assignment) -> list[Receipt]:
        carrier = object()
        self._carriers.add(carrier)
        try:
            return await carry(self.appliance, assignment)
        finally:
            self._carriers.discard(carrier)

    def cut_off(self) -> None:
        """Its carriers end where they stand, without a release: others take over."""
        carriers, self._running = self._running, []
        for carrier in carriers:
            carrier.cancel()
        assert until(lambda: not self._carriers, PATIENCE_SECONDS)

    def begin_process(self, program: str = "tests.live.carrying", *arguments: str) -> Process:
        """The next plan, carried by a process of its own, which is yours to kill."""
        self._writers_before = {(e.producer_id, e.epoch) for e in self.entries().values()}
        self.plan_version += 1
        self._await(self._driver.say(self.plan_version))
        directory = self.target.directory
        (assignment,) = self._assignments(1)
        told = directory / f"{self._home}.{self.plan_version}.assignment"
        told.write_bytes(pickle.dumps((self.appliance, assignment)))
        process = Process(
            f"carrier-{self._home}",
            [sys.executable, "-m", program, str(told), *arguments],
            told.with_suffix(".log"),
            environment={"PYTHONPATH": str(CHECKOUT)},
        )
        self._processes.append(process)
        return process

    def until_held_by(self, process: Process) -> None:
        """Until the process begun last holds all that was adopted: its writer is in every entry."""
        (route,) = self.routes.values()
        own_id = f"sluice.{route.key}.0"

        def is_held() -> bool:
            assert process.is_running(), process.failure("ended before it held anything")
            return all(
                entry.custody is Custody.HELD
                and entry.transactional_id == own_id
                and (entry.producer_id, entry.epoch) not in self._writers_before
                for entry in self.entries().values()
            )

        assert until(is_held, PATIENCE_SECONDS), self.entries()

    def next_plan(self, *, carriers: int = 1) -> list[Receipt]:
        """A newer plan: the carriers end their epoch by themselves, and new ones begin."""
        old, self._running = self._running, []
        self._await(self._driver.say(self.plan_version + 1))
        receipts = self._collect(old)
        self.begin(carriers=carriers)
        return receipts

    def overtake(self) -> list[Receipt]:
        """A newer plan whose carriers begin while those of the old one, under the same ids, still
        write: what those had to leave."""
        old, self._running = self._running, []
        self.begin()
        return self._collect(old)

    def stop(self) -> list[Receipt]:
        """The driver's stop: what every carrier's receipts say."""
        self._await(self._driver.say(self.plan_version, stop=True))
        old, self._running = self._running, []
        return self._collect(old)

    def carry_all(self, *, carriers: int = 1) -> list[Receipt]:
        """One epoch, until everything was carried."""
        self.begin(carriers=carriers)
        self.until_carried()
        return self.stop()

    def _assignments(self, carriers: int) -> list[Assignment]:
        places = [TopicPartition(t, n) for t, count in self.topics.items() for n in range(count)]
        return [
            Assignment(
                route=route,
                number=number,
                partitions=tuple(places[number::carriers]),
                term=self._driver.term,
                plan_version=self.plan_version,
                deadline=time.time() + PATIENCE_SECONDS,
                max_message_bytes=self._limits,
            )
            for route in self.routes.values()
            for number in range(carriers)
        ]

    def _collect(self, carriers: Sequence[Future[list[Receipt]]]) -> list[Receipt]:
        receipts = [receipt for carrier in carriers for receipt in carrier.result(60)]
        self.receipts += receipts
        return receipts

    # -- what is waited for

    def until_carried(self, **but: Iterable[int]) -> None:
        """Until the ledger has passed the ends that the sources have now.

        Args:
            but: by source, partitions that are not waited for.
        """
        for name in self.routes:
            ends = self.source_ends(name)
            left = {p: end for p, end in ends.items() if p.partition not in but.get(name, ())}
            self.until(lambda name=name, left=left: self._is_past(name, left))

    def until_parked(self, place: TopicPartition, source: str | None = None) -> str:
        """Until the ledger says that a partition is parked: the reason it gives."""
        name = source or next(iter(self.routes))

        def is_parked() -> bool:
            entry = self.entries(name).get(place)
            return entry is not None and entry.parked is not None

        self.until(is_parked)
        return str(self.entries(name)[place].parked)

    def until(self, condition: Any) -> None:
        """Until the condition is true, as long as no carrier has failed."""

        def is_true() -> bool:
            for carrier in self._running:
                if carrier.done():
                    carrier.result()
            return bool(condition())

        assert until(is_true, PATIENCE_SECONDS), {n: self.entries(n) for n in self.routes}

    def _is_past(self, name: str, ends: Mapping[TopicPartition, int]) -> bool:
        entries = self.entries(name)
        for place, end in ends.items():
            entry = entries[place]
            assert entry.parked is None, f"{place}: {entry.parked}"
            if entry.source_offset < end or (end and entry.custody == "virgin"):
                return False
        return True

    def source_ends(self, name: str) -> dict[TopicPartition, int]:
        """Last stable offsets of what a source has of the adopted partitions."""
        admin = self.sources[name].admin()
        asked: dict[Place, OffsetSpec] = {}
        for topic, count in self.topics.items():
            known = admin.list_topics(topic, timeout=30).topics[topic].partitions
            asked |= {Place(topic, n): OffsetSpec.latest() for n in range(count) if n in known}
        if not asked:
            return {}
        isolation = IsolationLevel.READ_COMMITTED
        answers: Any = admin.list_offsets(asked, isolation_level=isolation)
        return {
            TopicPartition(place.topic, place.partition): answer.result(30).offset
            for place, answer in answers.items()
        }

    def entries(self, name: str | None = None) -> dict[TopicPartition, Entry]:
        """The ledger of a route (of the first source, unless named)."""
        places = [TopicPartition(t, n) for t, count in self.topics.items() for n in range(count)]
        ledger = self._ledgers[name or next(iter(self.routes))]
        return self._await(ledger.read(places))

    # -- what is accepted

    def accept(self, place: TopicPartition, *, restart_at: int | None = None) -> Accepted:
        """The operator's word on one parked partition of the first source."""
        return self._await(self._accept(place, restart_at))

    async def _accept(self, place: TopicPartition, restart_at: int | None) -> Accepted:
        acceptance = Acceptance(self.appliance, next(iter(self.routes.values())))
        await acceptance.open([place.topic])
        try:
            parked = [p for p in await acceptance.parked([place.topic]) if p.partition == place]
            (accepted,) = await acceptance.accept(parked, restart_at)
        finally:
            await acceptance.close()
        return accepted

    # -- what came of it

    def assert_exact(
        self,
        *,
        since: Mapping[int, int] | None = None,
        but: Iterable[int] = (),
        redis_may_lack: bool = False,
    ) -> int:
        """Both ends hold the same, for readers of both isolation levels; and so say both maps.

        Args:
            since: by partition, the source offset from which on records count.
            but: partitions that are not looked at.
            redis_may_lack: runs, as after a kill; then they are read back from the topic first.
        Returns: how many records.
        """
        count = 0
        for topic in self.topics:
            sent = {
                name: {p: _since(d, (since or {}).get(p, 0)) for p, d in dumps.items()}
                for name, cluster in self.sources.items()
                if (dumps := _without(but, dump(cluster, topic)))
            }
            for isolation in BOTH:
                arrived = _without(but, dump(self.target, topic, isolation))
                comparison = compare_dumps(sent, arrived, topic)
                assert comparison.is_right, (isolation, comparison)
            count += comparison.total.sent
            self._assert_maps_exact(topic, sent, arrived, redis_may_lack)
        return count

    def maps(self, name: str) -> tuple[dict[Any, OffsetMap], dict[Any, OffsetMap]]:
        """The offset maps of a route: rebuilt from the runs topic, and as Redis has them."""
        route = self.routes[name]
        told = rebuild(self.target.librdkafka_options(), route.key)
        with OffsetStore(self.redis.url, route.key) as store:
            return told, store.load_all()

    def _assert_maps_exact(
        self,
        topic: str,
        sent: Mapping[str, Mapping[int, PartitionDump]],
        arrived: Mapping[int, PartitionDump],
        redis_may_lack: bool,
    ) -> None:
        """For every record of every source: where it landed, and back, in both maps."""
        for name, route in self.routes.items():
            told, kept = self.maps(name)
            if redis_may_lack:
                with OffsetStore(self.redis.url, route.key) as store:
                    assert store.rebuild(read(self.target.librdkafka_options(), route.key))
                    kept = store.load_all()
            for maps in (told, kept):
                by_partition = {k.partition: m for k, m in maps.items() if k.topic == topic}
                for partition, dumped in sent[name].items():
                    if len(dumped.prints):
                        _assert_map_exact(by_partition[partition], dumped, arrived[partition])

    # -- its loop

    def _spawn(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _await(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        return self._spawn(awaited()).result(60)


def _since(sent: PartitionDump, offset: int) -> PartitionDump:
    wanted = sent.offsets >= offset
    return PartitionDump(sent.prints[wanted], sent.offsets[wanted], sent.size_bytes)


def _without(but: Iterable[int], dumps: Mapping[int, PartitionDump]) -> dict[int, PartitionDump]:
    return {partition: it for partition, it in dumps.items() if partition not in set(but)}


def _assert_map_exact(found: OffsetMap, sent: PartitionDump, arrived: PartitionDump) -> None:
    """The source's records are all different, so a fingerprint says where each of them landed."""
    assert found.complete, found.missing
    landed = dict(zip(arrived.prints.tolist(), arrived.offsets.tolist(), strict=True))
    for fingerprint, offset in zip(sent.prints.tolist(), sent.offsets.tolist(), strict=True):
        assert found.target_of(offset) == landed[fingerprint]
        assert found.source_of(landed[fingerprint]) == offset
    counted = sum(run.records for run in found.runs())
    assert counted == len(sent.prints), f"runs of {counted} records, {len(sent.prints)} were sent"


# -- topics and traffic


def new_name(name: str = "topic") -> str:
    return f"{name}-{uuid.uuid4().hex[:12]}"


def create(
    cluster: KafkaCluster,
    topic: str,
    partitions: int = 1,
    config: Mapping[str, str] | None = None,
    replicas: Sequence[Sequence[int]] | None = None,
) -> None:
    """A topic of this name; both ends may have it with other configs."""
    count = len(replicas) if replicas else partitions
    placed: Any = {"replica_assignment": replicas} if replicas else {}
    new = NewTopic(topic, count, config=dict(config or {}), **placed)
    admin = cluster.admin()
    admin.create_topics([new])[topic].result(30)


def delete(cluster: KafkaCluster, topic: str) -> None:
    """Returns once the cluster no longer knows it."""
    admin = cluster.admin()
    admin.delete_topics([topic])[topic].result(30)
    assert until(lambda: topic not in admin.list_topics(timeout=30).topics, 30)


class Sending:
    """Traffic that runs on beside the test: portions of records, all different, until it ends."""

    def __init__(
        self, cluster: KafkaCluster, topic: str, partitions: int = 1, shape: Shape = PLAIN
    ) -> None:
        self.sent = 0
        self._what = cluster, topic, partitions, shape
        self._is_over = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Sending:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        if self._failure:
            raise self._failure

    def until_sent(self, count: int) -> None:
        """Until so many more were taken by the broker."""
        goal = self.sent + count
        assert until(lambda: self.sent >= goal or not self._thread.is_alive(), PATIENCE_SECONDS)

    def _run(self) -> None:
        cluster, topic, partitions, shape = self._what
        mark = uuid.uuid4().hex[:6]
        try:
            for number in itertools.count():
                if self._is_over.is_set():
                    return
                portion = records(200, partitions=partitions, origin=f"{mark}.{number}.")
                self.sent += send(cluster, topic, portion, shape)
        except BaseException as error:
            self._failure = error


def _appliance(
    routes: Mapping[str, Route],
    carrying: Carrying,
    start: str | int,
    settings: Mapping[str, object],
) -> Appliance:
    nowhere = (f"127.0.0.1:{port}" for port in range(1, 1000))
    tables = {
        carrying.routes[name].source: {
            "regional": cluster.topology_table(),
            "aggregate": {"bootstrap": [next(nowhere)]},
            "redis": carrying.redis.url,
        }
        for name, cluster in carrying.sources.items()
    }
    (home,) = {route.target for route in routes.values()}
    tables[home] = {
        "regional": {"bootstrap": [next(nowhere)]},
        "aggregate": carrying.target.topology_table(),
        "redis": carrying.redis.url,
    }
    return Appliance.model_validate(
        {
            "regions": tables,
            "routes": [route.name for route in routes.values()],
            "topics": {"start": start},
            "replicator": dict(settings),
        }
    )


# -- a carrier in a process of its own


def carry_as_told(told: Path) -> None:
    """Be the carrier that begin_process described."""
    # Written by begin_process, read by nobody else.
    appliance, assignment = pickle.loads(told.read_bytes())
    asyncio.run(carry(appliance, assignment))


if __name__ == "__main__":
    carry_as_told(Path(sys.argv[1]))
