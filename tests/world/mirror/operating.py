"""Commands of operators about streams: the product's code in processes that may be killed.

They are cut where librdkafka begins: the order log is read and written in the world's topic.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from typing_extensions import override

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.kafka.tail.compacted_topic import WriteUnknown
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.notices.event import Event
from replicator.orders.active_plan import ActivePlan
from replicator.orders.balance_log import BalanceLog
from replicator.orders.order_log import OrderLog
from replicator.orders.order_reader import OrderReader, checked
from replicator.orders.order_records import AnyRecord, key_of
from tests.world.blocking import in_thread, pause, wait
from tests.world.mirror.order_topic import OrderTopic, keyed, pairs_of
from tests.world.process import Process
from tui.commands.exit_codes import exit_code_of
from tui.facts.watch.balance_client import BalanceClient
from tui.orders.region_orders import RegionOrders

TIMEOUT_SECONDS = 5.0
READ_SECONDS = (0.01, 0.3)


class WorldBalanceLog(BalanceLog):
    """Topic of orders, which is there from the beginning, read and written by blocking code."""

    def __init__(self, name: str, appliance: Appliance, region: str, topic: OrderTopic) -> None:
        super().__init__(name, appliance.region(region).aggregate)
        self._said, self._world = name, topic

    @override
    def make_topic(self) -> None:
        """Does nothing: the topic is there."""

    @override
    def write(self, records: Iterable[AnyRecord], tombstones: Iterable[bytes] = ()) -> None:
        pairs = pairs_of([checked(key_of(it), it) for it in records], tombstones)

        async def written() -> None:
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    await self._world.write(pairs)
            except TimeoutError:
                raise WriteUnknown(self._said, "the order may be written or not") from None

        wait(written)

    @override
    def read(self) -> OrderLog:
        give_up_at = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < give_up_at:
            pause(self._world.dice.uniform(*READ_SECONDS))
            records = self._world.read_whole()
            if records is not None:
                return OrderLog().after(keyed(OrderReader(), records))
        raise LogUnreadable(f"{self._said}: not read to its end in {TIMEOUT_SECONDS:g} s")


class WorldClient(BalanceClient):
    """Balance client of an operator, who does not see what the driver shows in Redis."""

    def __init__(self, appliance: Appliance, region: str, topic: OrderTopic) -> None:
        super().__init__(appliance, region, TIMEOUT_SECONDS)
        self._topic = WorldBalanceLog(ClusterName.aggregate(region), appliance, region, topic)

    @override
    def order_log(self) -> OrderLog:
        return self._topic.read()

    @override
    def write(self, records: Iterable[AnyRecord], deleted: Iterable[bytes] = ()) -> None:
        self._topic.write(records, deleted)

    @override
    def active_plan(self) -> ActivePlan | None:
        return None

    @override
    def note(self, events: Iterable[Event]) -> None:
        """Does nothing: events are for people."""


async def commanded(
    client: WorldClient,
    name: str,
    command: Callable[[RegionOrders], object],
    kill_after: float = TIMEOUT_SECONDS * 3,
) -> str:
    """Runs a command in a process of its own; returns how it has ended.

    Args:
        name: of the command.
        command: gives the orders.
        kill_after: time after which the process is killed.

    Raises any error that no command is expected to end with.
    """

    def run() -> None:
        orders = RegionOrders(client, who="operator", warn=lambda _: None)
        # Read here: all threads share the lock under which a cached property reads it (Python
        # 3.11), and commands are processes.
        vars(orders)["order_log"] = client.order_log()
        command(orders)

    process = Process(name).start(in_thread(run))
    assert process.main is not None
    done, _ = await asyncio.wait({process.main}, timeout=kill_after)
    if not done:
        process.kill()
        await asyncio.wait({process.main})
        return "killed"
    error = process.main.exception()
    if error and not exit_code_of(error):
        raise error
    return f"{type(error).__name__}: {error}" if error else "done"
