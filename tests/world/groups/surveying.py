"""Parts of a survey in a world: its clients ask the world's servers, in one thread.

What the product gives to several threads is done one after the other, in the order in which it is
given to them. The ledger is read over the world's network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

from balancer.topic_partition import TopicPartition
from replicator.config.topology import KafkaCluster, Route
from replicator.mirror.ledger.ledger_reader import Entries, LedgerReader
from tests.world.blocking import wait

Result = TypeVar("Result")


class OneAfterTheOther(Executor):
    """Executor that does everything at once, in the thread that asks for it."""

    def __init__(self, _: int) -> None:
        pass

    def submit(
        self, function: Callable[..., Result], /, *args: Any, **options: Any
    ) -> Future[Result]:
        future: Future[Result] = Future()
        try:
            future.set_result(function(*args, **options))
        except Exception as error:
            future.set_exception(error)
        return future


class _WorldLedgerReader(LedgerReader):
    def entries(self, asked: Mapping[Route, Iterable[TopicPartition]]) -> dict[Route, Entries]:
        by_route = {route: list(partitions) for route, partitions in asked.items()}

        async def read() -> dict[Route, Entries]:
            try:
                return await self._read(by_route)
            finally:
                if self.cluster is not None:
                    await self.cluster.close()

        return wait(read)


def entries_of(
    name: str,
    settings: KafkaCluster,
    asked: Mapping[Route, Iterable[TopicPartition]],
    timeout_seconds: float,
) -> dict[Route, Entries]:
    """Returns the entries of routes into one cluster; raises as the product's does."""
    return _WorldLedgerReader(name, settings, timeout_seconds).entries(asked)
