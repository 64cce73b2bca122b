"""A carrier session under a test's control: frozen as by SIGSTOP, killed, or held before a request.

Each session runs on an event loop in a thread of its own. To the brokers, a blocked loop looks like
a stopped process: connections stay open, nothing is answered, and time passes.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from typing import Any, TypeVar

from balancer.topic_partition import TopicPartition
from deploy.lab.wait import until
from replicator.config.names import driver_id
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.connection import Connection
from replicator.mirror.carrier.carrier_assembly import MAKERS, Makers, assemble
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.carrier.receipts import Receipt
from replicator.mirror.ledger.takeover import Takeover
from replicator.notices.conditions import Conditions
from replicator.spark.driver_command import read_command
from tests.live.carrying import Carrying
from tests.replicator.mirror.carrier.adapted_pipelines import AdaptedPipelines

T = TypeVar("T")

PATIENCE_SECONDS = 60.0


class Hand:
    """A session of one carrier of the only route; not started until `start`.

    Args:
        number: of the carrier. Two hands of the same number share a transactional id.
        places: partitions to carry (default: all adopted ones).
        term: of its driver (default: the current leader's).
        makers: make the parts of the session.
        adapt: changes each pipeline before it is carried.
        max_message_bytes: by topic, where the session assumes another limit than Kafka's default.
    """

    takeover: Takeover

    def __init__(
        self,
        carrying: Carrying,
        number: int = 0,
        places: Iterable[TopicPartition] = (),
        term: Any = None,
        makers: Makers = MAKERS,
        adapt: Callable[[PartitionPipeline], None] | None = None,
        max_message_bytes: Mapping[str, int] | None = None,
        **settings: object,
    ) -> None:
        (route,) = carrying.routes.values()
        every = [TopicPartition(t, n) for t, count in carrying.topics.items() for n in range(count)]
        _speak(carrying)
        assignment = CarrierAssignment(
            route=route,
            number=number,
            partitions=tuple(places) or tuple(every),
            term=term or carrying.driver.term,
            plan_version=carrying.plan_version,
            deadline=time.monotonic() + 600,
            max_message_bytes=tuple((max_message_bytes or {}).items()),
        )
        changed = carrying.appliance.replicator.model_copy(update=settings)
        appliance = carrying.appliance.model_copy(update={"replicator": changed})
        if adapt:
            makers = replace(makers, pipelines=lambda: AdaptedPipelines(adapt))
        make_takeover = makers.takeover

        def takeover(**collaborators: Any) -> Takeover:
            self.takeover = make_takeover(**collaborators)
            return self.takeover

        self.conditions = Conditions(f"carrier {number}")
        self.receipts = ReceiptBook(assignment, self.conditions)
        self.session = assemble(
            appliance, assignment, self.receipts, replace(makers, takeover=takeover)
        )
        self._uses_tls = any(
            end.security.is_tls for end in (appliance.source_of(route), appliance.target_of(route))
        )
        self._loop = asyncio.new_event_loop()
        self._thaw, self._stands = threading.Event(), threading.Event()
        self._task: asyncio.Task[None] | None = None
        self._running: Future[None] | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    @property
    def source(self) -> Cluster:
        return self.session.source

    @property
    def target(self) -> Cluster:
        return self.session.target

    @property
    def pipelines(self) -> dict[TopicPartition, PartitionPipeline]:
        return self.session.pipelines

    @property
    def producer(self) -> tuple[int, int]:
        """Producer id and epoch."""
        committer = self.session.fenced_committer
        return committer.producer_id, committer.epoch

    def start(self) -> Hand:
        self._running = asyncio.run_coroutine_threadsafe(self._run(), self._loop)
        return self

    async def _run(self) -> None:
        self._task = asyncio.current_task()
        await self.session.run()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine of the session on its loop and returns the result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_SECONDS)

    # -- control

    def freeze(self) -> None:
        """Blocks the session's loop; returns once it is blocked."""
        self._stands.clear()
        self._thaw.clear()
        self._loop.call_soon_threadsafe(self.freeze_here)
        self.until_frozen()

    def freeze_here(self) -> None:
        """Blocks the loop from here on; called on the session's own loop."""
        self._stands.set()
        self._thaw.wait()

    def until_frozen(self) -> None:
        assert self._stands.wait(PATIENCE_SECONDS)

    def cut(self, connection: Connection) -> None:
        """Closes the connection, as an idle timeout does; while frozen, first thing afterwards."""
        self._loop.call_soon_threadsafe(connection.close)

    def thaw(self) -> None:
        self._thaw.set()

    def kill(self) -> None:
        """Ends the session without a release; batches that it has sent may have landed."""
        self.thaw()
        if self._task:
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._ended()

    def kill_if_running(self) -> None:
        """Calls kill() if the session was started and has not ended."""
        if self._running and not self.has_ended:
            self.kill()

    def close(self) -> None:
        """Ends the session if it runs, then closes its loop and its thread."""
        self.kill_if_running()
        # TLS connections close in the background.
        self.call(_wind_up(0.5 if self._uses_tls else 0.02))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_SECONDS)
        self._loop.close()

    def end(self) -> None:
        """Ends the session's epoch; returns at once."""
        self._loop.call_soon_threadsafe(self.session.ending.set)

    def finish(self) -> list[Receipt]:
        """Ends the session's epoch: drains, releases, and returns the receipts."""
        self.end()
        failure = self.failure()
        assert failure is None, failure
        return self.receipts.receipts(time.time())

    def failure(self) -> BaseException | None:
        """Waits for the session's end; returns the exception that ended it, or None."""
        return self._ended()

    def _ended(self) -> BaseException | None:
        assert self._running is not None
        try:
            return self._running.exception(PATIENCE_SECONDS)
        except CancelledError as cancelled:
            return cancelled

    def take_again(self, place: TopicPartition) -> None:
        """Has the session acquire a partition that it has released."""

        async def want() -> None:
            self.session.acquisition.want([place])

        self.call(want())

    # -- waits

    def reason_of(self, place: TopicPartition) -> str:
        """Waits until the session reports a partition as parked, and returns the reason."""
        self.until(lambda: place in self.session.acquisition.parked)
        return self.session.acquisition.parked[place]

    @property
    def has_ended(self) -> bool:
        return self._running is not None and self._running.done()

    def until(self, condition: Callable[[], bool]) -> None:
        """Waits for the condition. Raises AssertionError when the session ends first."""
        assert until(lambda: self._is_true(condition), PATIENCE_SECONDS), self.trouble

    def _is_true(self, condition: Callable[[], bool]) -> bool:
        if self.has_ended:
            raise AssertionError("the session ended") from self.failure()
        return condition()

    def until_landed(self, place: TopicPartition, source_offset: int) -> None:
        """Waits until everything before a source offset is acknowledged."""
        self.until(
            lambda: (
                place in self.pipelines
                and self.pipelines[place].entry.source_offset >= source_offset
            )
        )

    def until_carried(self, place: TopicPartition) -> None:
        """Waits until everything that the source holds is acknowledged."""

        def is_carried() -> bool:
            pipeline = self.pipelines.get(place)
            return (
                bool(pipeline)
                and pipeline.is_empty
                and pipeline.position >= self.call(self._end(place))
            )

        self.until(is_carried)

    async def _end(self, place: TopicPartition) -> int:
        return await self.source.log_end(*place)

    @property
    def trouble(self) -> str:
        return f"{self.source.trouble} | {self.target.trouble} | {self.pipelines}"


async def _wind_up(seconds: float) -> None:
    """Cancels the remaining tasks, then gives closed connections `seconds` to end."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.sleep(seconds)
    await asyncio.get_running_loop().shutdown_default_executor()


class Sent:
    """Passes the requests of a carrier's senders through `sending`, in the order of the calls.

    Args:
        hand: not started yet.
        sending: called with the connection's `send` and the request.
    """

    def __init__(self, hand: Hand, sending: Callable[[Callable, Any], Any]) -> None:
        self.connections: list[Connection] = []
        """Connections of the senders, in the order in which they were made."""
        connect = hand.target.connect

        async def connected(node: int) -> Connection:
            connection = await connect(node)
            send = connection.send
            connection.send = lambda request: sending(send, request)  # type: ignore[method-assign]
            self.connections.append(connection)
            return connection

        hand.target.connect = connected  # type: ignore[method-assign]


class Gate:
    """Holds a session before it sends a request of this name.

    Args:
        name: of the request, such as "EndTxn".
        when: selects among the requests of this name.
    """

    def __init__(
        self, cluster: Cluster, name: str, when: Callable[[Any], bool] = lambda _: True
    ) -> None:
        self._is_reached = threading.Event()
        self._is_open = threading.Event()
        send = cluster.send

        async def held(node: int, request: Any, purpose: str = "control") -> Any:
            is_named = type(request).__name__ == f"{name}Request"
            if is_named and not self._is_open.is_set() and when(request):
                self._is_reached.set()
                await asyncio.to_thread(self._is_open.wait)
            return await send(node, request, purpose)

        cluster.send = held  # type: ignore[method-assign]

    def wait(self) -> None:
        """Waits until the session is held before the request."""
        assert self._is_reached.wait(PATIENCE_SECONDS)

    def open(self) -> None:
        """Lets the held request and all later ones pass."""
        self._is_open.set()


def names_topic(request: Any, topic: str) -> bool:
    """Returns True when a TxnOffsetCommit holds an entry of this topic."""
    return any(name == topic for name, _ in request._topics)


def _speak(carrying: Carrying) -> None:
    """Commits the driver command unless this driver already has; carriers need one."""
    cluster, home = carrying.cluster, carrying.home
    command = carrying.wait(read_command(cluster, driver_id(home)))
    if command is None or command.term != carrying.driver.term:
        carrying.wait(carrying.driver.publish(carrying.plan_version))
