"""Takeover by an operator's command: partitions are acquired as by any carrier, and released.

It works whether or not a carrier runs. A running carrier that was given the partitions acquires
them within seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from types import MappingProxyType

from aiokafka.errors import KafkaError

from balancer.topic_partition import TopicPartition
from replicator.config.names import operator_id
from replicator.config.topology import Appliance, Route
from replicator.kafka.client.cluster import Answered
from replicator.kafka.client.loss import Loss
from replicator.mirror.carrier.carrier_assembly import MAKERS, Makers, ledger_side, takeover_of
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.ledger.acquired import Taken
from replicator.mirror.ledger.takeover import Takeover
from replicator.runtime.gather import gather_or_cancel

STOP_SECONDS = 2.0


class OperatorTakeover:
    """Acquires partitions of a route under an operator's transactional id, and releases them."""

    def __init__(self, appliance: Appliance, route: Route, makers: Makers = MAKERS):
        self.left: dict[TopicPartition, str] = {}
        """Partitions that could not be acquired, with the reason."""
        self._appliance = appliance
        self._makers = makers
        # Reports are stored by carrier number; the Redis writer of this carrier never writes any.
        self._side = ledger_side(
            appliance,
            route,
            transactional_id=operator_id(route.key),
            carrier=-1,
            makers=makers,
        )
        self.source, self.target = self._side.source, self._side.target
        self.ledger, self.runs = self._side.ledger, self._side.runs
        self._takeover: Takeover | None = None

    async def close(self) -> None:
        await asyncio.gather(self.source.close(), self.target.close())

    @property
    def bytes_read(self) -> int:
        """Bytes read of the target's logs; it grows while a long tail is read."""
        return self._takeover.bytes_read if self._takeover else 0

    async def take(
        self,
        partitions: Collection[TopicPartition],
        *,
        accept: Mapping[TopicPartition, Loss] = MappingProxyType({}),
        restart_at: int | None = None,
    ) -> dict[TopicPartition, Taken]:
        """Returns the partitions that were acquired and released; `left` holds the others.

        Args:
            accept, restart_at: see Takeover.

        Raises:
            Unreachable, Fenced, ProducerStateLost, Forbidden, Answered.
        """
        side = self._side
        self._takeover = takeover_of(
            self._appliance, side, self._makers, accept=accept, restart_at=restart_at
        )
        try:
            await gather_or_cancel(
                side.publisher.start(), side.redis_writer.start(), side.fenced_committer.open()
            )
            return await self._take_all(self._takeover, set(partitions))
        finally:
            for stop in (side.publisher.stop, side.redis_writer.stop):
                # An unreachable cluster must not hold up the end.
                with suppress(TimeoutError, KafkaError, OSError):
                    async with asyncio.timeout(STOP_SECONDS):
                        await stop()

    async def _take_all(
        self, takeover: Takeover, partitions: set[TopicPartition]
    ) -> dict[TopicPartition, Taken]:
        """Acquires and releases partitions; repeats while attempts get further in a long tail."""
        taken: dict[TopicPartition, Taken] = {}
        parked: dict[TopicPartition, str] = {}
        while True:
            read = takeover.bytes_read
            acquired = await takeover.acquire(partitions)
            taken |= acquired.taken
            parked |= acquired.parked
            self._side.pipelines.update(
                {p: PartitionPipeline(p, one.entry) for p, one in acquired.taken.items()}
            )
            # A running carrier may have acquired them meanwhile, and has then fenced us.
            with suppress(Answered):
                own_id = self._side.fenced_committer.transactional_id
                await self._side.committer.release(f"{own_id}.free")
            self._side.pipelines.clear()
            partitions = set(acquired.waiting)
            self.left = acquired.waiting | parked
            if not partitions or takeover.bytes_read == read:
                return taken
