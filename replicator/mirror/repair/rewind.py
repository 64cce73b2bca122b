"""Rewind: an operator has records of a partition mirrored again, from an earlier offset on.

Nothing else in Sluice makes duplicates; here an operator asks for them. The partition must be
paused: its entry has to be released and waiting for its next carrier. A carrier that died before
the pause releases nothing: an operator may have its partitions taken over first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Appliance, Route
from replicator.kafka.client.cluster import Cluster, Fenced
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.mirror.carrier.carrier_assembly import clusters_of
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.ledger import Ledger
from replicator.mirror.repair.operator_takeover import OperatorTakeover

EARLIEST = "earliest"
Start = int | str
"""A source offset, EARLIEST, or `@` and milliseconds since 1970."""


class CannotRewind(Exception):
    """Nothing was changed; the text says why, and what to do first."""


class PartlyRewound(Exception):
    """Some partitions were rewound and then one failed; the text names them."""


@dataclass(frozen=True, slots=True)
class Rewound:
    """Rewind of one partition.

    Args:
        was_at, goes_on_at: source offsets; the records between them are mirrored again.
    """

    partition: TopicPartition
    was_at: int
    goes_on_at: int


class Rewind:
    """Finds the offsets at which partitions would continue, and makes them continue there.

    Args:
        takes_over: True takes over partitions that are held. A carrier that still runs is fenced.
        ledger: makes the ledger of the target.
    """

    def __init__(
        self,
        appliance: Appliance,
        route: Route,
        *,
        takes_over: bool = False,
        ledger: Callable[[Cluster, Route], Ledger] = Ledger,
    ):
        self._appliance = appliance
        self._takes_over = takes_over
        self._timeout_ms = appliance.replicator.transaction_timeout_ms
        self.source, self.target = clusters_of(appliance, route)
        self._ledger = ledger(self.target, route)

    async def open(self, topic: str) -> None:
        """Connects to both clusters.

        Raises:
            Unreachable: no broker of a cluster answers.
        """
        await asyncio.gather(self.source.open([topic]), self.target.open([topic]))

    async def close(self) -> None:
        await asyncio.gather(self.source.close(), self.target.close())

    @property
    def trouble(self) -> str:
        """Problems of the clusters that do not answer at present."""
        found = filter(None, (self.source.trouble, self.target.trouble))
        return "; ".join(found) or "no answer yet"

    async def partitions(self, topic: str, numbers: Collection[int]) -> list[TopicPartition]:
        """Returns the partitions with these numbers; without numbers, all that were ever mirrored.

        Raises:
            CannotRewind: one of them, or the whole topic, was never mirrored.
        """
        adopted = await self._ledger.witnessed(topic)
        unknown = [str(number) for number in numbers if number >= adopted]
        if not adopted or unknown:
            which = f"partitions {', '.join(unknown)} of " if adopted else ""
            raise CannotRewind(f"{which}topic {topic}: never mirrored on {self._ledger.route}")
        return [TopicPartition(topic, number) for number in sorted(numbers) or range(adopted)]

    async def look(self, partitions: Collection[TopicPartition], to: Start) -> list[Rewound]:
        """Returns the rewinds without doing them.

        Raises:
            CannotRewind: a partition is not paused, or would not go back.
        """
        entries = await self._ledger.read(partitions)
        return [await self._rewound(each, entries.get(each), to) for each in partitions]

    async def rewind(self, partitions: Collection[TopicPartition], to: Start) -> list[Rewound]:
        """Rewinds the partitions; they continue at the new offset once they are carried again.

        Raises:
            CannotRewind: a partition cannot be rewound; nothing was changed.
            Fenced: a carrier has just acquired the partition; nothing was changed.
            PartlyRewound: the partitions before the failing one are rewound, and no others.
        """
        await self.look(partitions, to)
        if self._takes_over:
            await self._take_over(partitions)
        done: list[Rewound] = []
        for each in partitions:
            try:
                done.append(await self._rewind(each, to))
            except (CannotRewind, Fenced) as error:
                if not done:
                    raise
                names = ", ".join(_shown(rewound.partition) for rewound in done)
                raise PartlyRewound(f"{error}; rewound before: {names}") from error
        return done

    async def _take_over(self, partitions: Collection[TopicPartition]) -> None:
        """Takes over the partitions that are held, and releases them. Raises CannotRewind."""
        entries = await self._ledger.read(partitions)
        held = [each for each, entry in entries.items() if entry.custody is Custody.HELD]
        if not held:
            return
        operator = OperatorTakeover(self._appliance, self._ledger.route)
        topics = {each.topic for each in held}
        try:
            await asyncio.gather(operator.source.open(topics), operator.target.open(topics))
            await operator.take(held)
        finally:
            await operator.close()
        if operator.left:
            reasons = "; ".join(f"{_shown(each)}: {why}" for each, why in operator.left.items())
            raise CannotRewind(f"not taken over: {reasons}; nothing was rewound")

    async def _rewind(self, partition: TopicPartition, to: Start) -> Rewound:
        holder, entry = await self._held(partition)
        rewound = await self._rewound(partition, entry, to)
        earlier = replace(
            entry,
            source_offset=rewound.goes_on_at,
            target_offset=await self.target.log_end(*partition),
            source_epoch=-1,
            gaps=(),
            # The later runs, of the rewound records, must overrule the earlier ones in the offset
            # map.
            losses=entry.losses + 1,
        )
        await self._ledger.replace(holder, {partition: entry}, {partition: earlier})
        return rewound

    async def _held(self, partition: TopicPartition) -> tuple[FencedCommitter, Entry]:
        """Returns the entry, and a fenced committer of the transactional id that it names.

        No other committer can replace the entry. If a carrier acquires and releases it before the
        id is opened, the entry names another id, which is opened next.
        """
        entry = self._checked(partition, (await self._ledger.read([partition])).get(partition))
        while True:
            name = entry.transactional_id
            holder = await FencedCommitter(self.target, name, self._timeout_ms).open()
            found = await self._ledger.read_as_holder(holder, [partition])
            entry = self._checked(partition, found.get(partition))
            if entry.transactional_id == name:
                return holder, entry

    async def _rewound(self, partition: TopicPartition, entry: Entry | None, to: Start) -> Rewound:
        entry = self._checked(partition, entry)
        start = await self.source.log_start(*partition)
        if to == EARLIEST:
            offset = start
        elif isinstance(to, str):
            offset = await self.source.offset_at(*partition, int(to.removeprefix("@")))
        else:
            offset = to
        if offset < start:
            raise CannotRewind(
                f"{_shown(partition)}: the source has nothing before offset {start}; nothing was "
                "changed"
            )
        if offset > entry.source_offset:
            raise CannotRewind(
                f"{_shown(partition)}: its entry is at source offset {entry.source_offset}, and "
                f"{offset} is behind that: the records between would never be mirrored; nothing "
                "was changed"
            )
        return Rewound(partition, entry.source_offset, offset)

    def _checked(self, partition: TopicPartition, entry: Entry | None) -> Entry:
        """Returns the entry.

        Raises:
            CannotRewind: the entry does not wait for its next carrier.
        """
        if entry is None:
            raise CannotRewind(f"{_shown(partition)}: the ledger has no entry; see accept-loss")
        if entry.parked:
            raise CannotRewind(f"{_shown(partition)}: it is parked ({entry.parked}); accept-loss")
        if entry.custody is Custody.VIRGIN:
            raise CannotRewind(f"{_shown(partition)}: no record of it was mirrored yet")
        if entry.custody is Custody.HELD and not self._takes_over:
            raise CannotRewind(
                f"{_shown(partition)}: a carrier holds it; pause it first (sluice stream "
                "pause-topic), and resume it afterwards. If it stays held after a pause, its "
                "carrier has died: repeat the rewind with --take-over; nothing was changed"
            )
        return entry


def _shown(partition: TopicPartition) -> str:
    return f"{partition.topic}-{partition.partition}"
