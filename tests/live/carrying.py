"""Routes carried between real clusters: adoption, driver commands, carriers and waits.

Carriers run on the event loop of their driver, so that a test reads from top to bottom, or in
processes of their own. Every `Carrying` has region names of its own, on clusters shared with other
tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import Process
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.mirror.carrier.carrier import carry
from replicator.mirror.carrier.carrier_assembly import MAKERS, Makers, assemble
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.receipts import Receipt
from replicator.mirror.ledger.entry import Custody
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.repair.accept_loss import Acceptance, Accepted
from tests.live.both_ends import assert_same, maps, stable_ends
from tests.live.carrier_process import begin_as_told
from tests.live.played_driver import PATIENCE_SECONDS, PlayedDriver
from tests.live.regions import Regions

QUICK: Mapping[str, object] = {
    "ledger_seconds": 0.2,
    "runs_seconds": 0.1,
    "word_poll_seconds": 0.05,
    "drain_seconds": 10.0,
}
"""Replicator settings for tests that wait for the ledger: entries are committed every 0.2 s, not
every five seconds."""


class Carrying(PlayedDriver):
    """All routes of some sources into one target, and the carriers of the current plan.

    Args:
        sources: clusters by region name.
        start: where partitions begin that were never carried.
        max_message_bytes: by topic, where the target's limit differs from Kafka's default.
        replication_factor: of Sluice's own topics.
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
        regions = Regions(sources, target, redis)
        super().__init__(
            regions,
            regions.appliance(start, {**QUICK, **settings}),
            max_message_bytes=max_message_bytes,
            replication_factor=replication_factor,
        )
        self.makers = MAKERS
        """Makers of the parts of carrier sessions that begin from now on, in this process."""
        self.receipts: list[Receipt] = []
        self._running: list[Future[list[Receipt]]] = []
        self._processes: list[Process] = []
        self._carriers: set[object] = set()
        self._writers_before: set[tuple[int, int]] = set()

    def __exit__(self, *raised: Any) -> None:
        try:
            for process in self._processes:
                process.kill()
            for carrier in self._running:
                carrier.cancel()
        finally:
            super().__exit__(*raised)

    # -- carriers

    def begin(self, *, carriers: int = 1) -> None:
        """Starts the next plan: carriers of every route share all adopted partitions."""
        for assignment in self._plan(carriers):
            self._running.append(self._loop.spawn(self._carried(assignment)))

    async def _carried(self, assignment: CarrierAssignment) -> list[Receipt]:
        carrier = object()
        self._carriers.add(carrier)
        try:
            return await carry(self.appliance, assignment, partial(assemble, makers=self.makers))
        finally:
            self._carriers.discard(carrier)

    def cut_off(self) -> None:
        """Cancels the carriers without a release, so that the next ones must take over."""
        carriers, self._running = self._running, []
        for carrier in carriers:
            carrier.cancel()
        assert until(lambda: not self._carriers, PATIENCE_SECONDS)

    def begin_process(
        self, program: str = "tests.live.carrier_process", *arguments: str
    ) -> Process:
        """Starts the next plan in a process of its own, which the test may kill."""
        self._writers_before = {(e.producer_id, e.epoch) for e in self.entries().values()}
        (assignment,) = self._plan(1)
        told = f"{self.home}.{self.plan_version}.assignment"
        process = begin_as_told(
            self.regions.target.directory / told, self.appliance, assignment, program, *arguments
        )
        self._processes.append(process)
        return process

    def begin_processes(self, carriers: int) -> list[Process]:
        """Starts the next plan with one process per carrier, which the test may kill."""
        started = []
        for assignment in self._plan(carriers):
            told = f"{self.home}.{self.plan_version}.{assignment.number}.assignment"
            path = self.regions.target.directory / told
            started.append(
                begin_as_told(path, self.appliance, assignment, "tests.live.carrier_process")
            )
        self._processes += started
        return started

    def say_newer_plan(self) -> None:
        """Commits the driver command of a newer plan, upon which carriers end their epoch."""
        self.wait(self.driver.publish(self.plan_version + 1))

    def say_stop(self) -> None:
        """Commits the driver's stop; does not wait for the carriers."""
        self.wait(self.driver.publish(self.plan_version, stop=True))

    def swap_carriers(self, carriers: int) -> None:
        """Moves every partition of the epoch to the next of `carriers` carriers."""
        where = {p: number % carriers for number, p in enumerate(self._places())}
        moved = {place: at for (_, place), at in self._moved.items()}
        (name,) = self.routes
        self._follow(
            {
                (name, place): ((moved.get(place, first) or 0) + 1) % carriers
                for place, first in where.items()
            }
        )

    def until_held_by(self, process: Process) -> None:
        """Waits until the process started last holds the entry of every adopted partition."""
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
        """Replaces the plan: the carriers end their epoch by themselves, and new ones begin.

        Returns the receipts of the old plan's carriers.
        """
        old, self._running = self._running, []
        self.wait(self.driver.publish(self.plan_version + 1))
        receipts = self._collect(old)
        self.begin(carriers=carriers)
        return receipts

    def move(self, where: Mapping[tuple[str, TopicPartition], int | None]) -> None:
        """Moves partitions, by route name, within the running epoch; None: no carrier."""
        self._follow(where)

    def fence(self, number: int) -> None:
        """Fences the running carrier of this number, as a second carrier of that number does; the
        running one then starts again."""
        (route,) = self.routes.values()
        self.wait(FencedCommitter(self.cluster, f"sluice.{route.key}.{number}").open())

    @property
    def running(self) -> list[Future[list[Receipt]]]:
        """Carriers of the plan, by number."""
        return list(self._running)

    def forget(self, carrier: Future[list[Receipt]]) -> None:
        """Drops a carrier that the test ended on purpose."""
        self._running.remove(carrier)

    def overtake(self) -> list[Receipt]:
        """Starts a newer plan whose carriers, under the same transactional ids, begin while the old
        ones still write. Returns the old carriers' receipts."""
        old, self._running = self._running, []
        self.begin()
        return self._collect(old)

    def stop(self) -> list[Receipt]:
        """Commits the driver's stop and returns the receipts of all carriers."""
        self.wait(self.driver.publish(self.plan_version, stop=True))
        old, self._running = self._running, []
        return self._collect(old)

    def carry_all(self, *, carriers: int = 1) -> list[Receipt]:
        """Runs one epoch until everything is carried; returns its receipts."""
        self.begin(carriers=carriers)
        self.until_carried()
        return self.stop()

    def _collect(self, carriers: Sequence[Future[list[Receipt]]]) -> list[Receipt]:
        receipts = [receipt for carrier in carriers for receipt in carrier.result(60)]
        self.receipts += receipts
        return receipts

    # -- waits

    def until_carried(self, **but: Iterable[int]) -> None:
        """Waits until the ledger has passed the ends that the sources have now.

        Args:
            but: by source, partitions to leave out.
        """
        for name in self.routes:
            ends = stable_ends(self.regions.sources[name], self.topics)
            left = {p: end for p, end in ends.items() if p.partition not in but.get(name, ())}
            self.until(lambda name=name, left=left: self._is_past(name, left))

    def until_parked(self, place: TopicPartition, source: str | None = None) -> str:
        """Waits until the ledger holds a partition as parked; returns the reason."""
        name = source or next(iter(self.routes))

        def is_parked() -> bool:
            entry = self.entries(name).get(place)
            return entry is not None and entry.parked is not None

        self.until(is_parked)
        return str(self.entries(name)[place].parked)

    def until(self, condition: Any) -> None:
        """Waits for the condition; raises when a carrier has failed."""

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

    # -- accepted losses

    def accept(
        self, place: TopicPartition, *, restart_at: int | None = None, makers: Makers = MAKERS
    ) -> Accepted:
        """Accepts the loss of one parked partition of the first source, as an operator does."""
        return self.wait(self._accept(place, restart_at, makers))

    async def _accept(
        self, place: TopicPartition, restart_at: int | None, makers: Makers
    ) -> Accepted:
        acceptance = Acceptance(self.appliance, next(iter(self.routes.values())), makers)
        await acceptance.open([place.topic])
        try:
            parked = [p for p in await acceptance.parked([place.topic]) if p.partition == place]
            (accepted,) = await acceptance.accept(parked, restart_at)
        finally:
            await acceptance.close()
        return accepted

    # -- results

    def assert_exact(
        self,
        *,
        since: Mapping[int, int] | None = None,
        but: Iterable[int] = (),
        redis_may_lack: bool = False,
    ) -> int:
        """Checks that no record is lost, repeated or changed, and that both maps are exact.

        Args: see assert_same. Returns the number of records.
        """
        return assert_same(
            self.regions, self.topics, since=since or {}, but=but, redis_may_lack=redis_may_lack
        )

    def maps(self, name: str) -> tuple[dict[Any, OffsetMap], dict[Any, OffsetMap]]:
        """Returns the offset maps of a route, from the runs topic and from Redis."""
        return maps(self.regions, name)
