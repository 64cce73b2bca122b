"""Acceptance of losses: an operator lets a parked partition continue behind its loss.

No record is skipped without being named. The accepted losses are the one that parked the partition,
and those that the takeover finds at the source or the target. The partition is acquired under
custody as by any carrier, whether or not one is running, and then released. A running carrier of
the route acquires it within seconds.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from balancer.topic_partition import TopicPartition
from replicator.config.names import unheld_id
from replicator.config.topology import Appliance, Route
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.carrier.carrier_assembly import MAKERS, Makers
from replicator.mirror.ledger.accepted_losses import can_restart_at, is_endless, takes_restart
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.published_runs import losses_after, runs_key
from replicator.mirror.repair.operator_takeover import OperatorTakeover

NO_ENTRY = "the ledger has no entry"


@dataclass(frozen=True, slots=True)
class Parked:
    """A partition that waits for an operator's decision.

    Args:
        entry: None if the ledger has none, or it cannot be read; then only the operator can say
            where to continue.
    """

    partition: TopicPartition
    entry: Entry | None
    reason: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """A partition that continues.

    Args:
        losses: texts of the accepted losses, with their ranges.
        source_offset: where reading of the source continues.
    """

    partition: TopicPartition
    losses: tuple[str, ...]
    source_offset: int


class Acceptance:
    """Finds the parked partitions of a route, and lets them continue.

    Only the target is asked for parked partitions. The source is needed once a loss is accepted.
    """

    def __init__(self, appliance: Appliance, route: Route, makers: Makers = MAKERS):
        self._appliance = appliance
        self._route = route
        self._operator = OperatorTakeover(appliance, route, makers)
        self._source, self._target = self._operator.source, self._operator.target
        self._ledger = self._operator.ledger
        self._asked = self._target

    @property
    def left(self) -> dict[TopicPartition, str]:
        """Partitions that could not be acquired, with the reason; their entries are unchanged."""
        return self._operator.left

    async def open(self, topics: Collection[str]) -> None:
        """Connects to the target and reads the topics' metadata.

        Raises:
            Unreachable: no broker answers.
        """
        await self._target.open(topics)

    async def close(self) -> None:
        await self._operator.close()

    @property
    def trouble(self) -> str:
        """Problems of the clusters that do not answer at present."""
        found = (self._target.trouble, self._source.trouble)
        return "; ".join(filter(None, found)) or f"{self._asked.name}: no answer yet"

    @property
    def bytes_read(self) -> int:
        """Bytes read of the target's logs; it grows while a long tail is read."""
        return self._operator.bytes_read

    async def unknown(self, topics: Collection[str]) -> list[str]:
        """Returns the topics that the target lacks and that this route never mirrored."""
        missing = [name for name in sorted(topics) if self._target.topic(name) is None]
        return [name for name in missing if not await self._ledger.witnessed(name)]

    async def parked(self, topics: Collection[str]) -> list[Parked]:
        """Returns the partitions of these topics that are parked, or adopted without an entry."""
        found: list[Parked] = []
        for name in sorted(topics):
            adopted = await self._ledger.witnessed(name)
            partitions = [TopicPartition(name, number) for number in range(adopted)]
            entries = await self._ledger.read(partitions)
            for partition in partitions:
                entry = entries.get(partition)
                if entry is None:
                    found.append(Parked(partition, None, NO_ENTRY))
                elif entry.parked:
                    known = None if _is_unreadable(entry) else entry
                    found.append(Parked(partition, known, str(entry.parked)))
        return found

    async def accept(self, parked: Collection[Parked], restart_at: int | None) -> list[Accepted]:
        """Lets partitions continue; `left` then holds those that could not be acquired.

        Args:
            restart_at: source offset to continue from. Required for partitions without an entry,
                and where the source cannot be read from some offset on. For refused records and
                similar losses, records are carried from this offset instead of from the end of the
                loss. Every other kind of loss takes none.
        Raises:
            ValueError: restart_at is missing, is not for the kind of a loss, or is not where the
                source can be read again. Also raised if a missing entry exists by now.
            Unreachable, Fenced, ProducerStateLost, Forbidden, Answered.
        """
        lost = [one.partition for one in parked if one.entry is None]
        if lost and restart_at is None:
            raise ValueError(
                f"the ledger has no entry for {', '.join(map(_shown, lost))}: "
                "give the source offset to continue at with --restart-at"
            )
        known = {
            one.partition: one.entry.parked for one in parked if one.entry and one.entry.parked
        }
        fixed = {partition: loss for partition, loss in known.items() if not takes_restart(loss)}
        if fixed and restart_at is not None:
            each = "; ".join(
                f"{_shown(partition)}: {loss.kind.value}" for partition, loss in fixed.items()
            )
            raise ValueError(
                f"--restart-at is not for {each}. Such a loss determines where its partition "
                "continues: accept it without --restart-at, and the others by --topic and "
                "--partition"
            )
        self._asked = self._source
        await self._source.open({one.partition.topic for one in parked})
        self._asked = self._target
        for partition, loss in known.items():
            await self._check_restart(partition, loss, restart_at)
        accepted = [await self._restart(partition, restart_at or 0) for partition in lost]
        return accepted + (await self._accept(known, restart_at) if known else [])

    async def _check_restart(
        self, partition: TopicPartition, loss: Loss, restart_at: int | None
    ) -> None:
        """Raises ValueError if restart_at is missing where it is needed, or is invalid."""
        if restart_at is None:
            if is_endless(loss):
                raise ValueError(
                    f"{_shown(partition)}: {loss}: give the source offset to continue at with "
                    "--restart-at"
                )
            return
        end = await self._source.log_end(*partition) if is_endless(loss) else 0
        if not can_restart_at(loss, restart_at, end):
            log = f"; its log ends at {end}" if end else ""
            raise ValueError(
                f"{_shown(partition)}: {loss}: --restart-at {restart_at} is not behind the offset "
                f"that cannot be read, or not within the range{log}"
            )

    async def _accept(
        self, losses: Mapping[TopicPartition, Loss], restart_at: int | None
    ) -> list[Accepted]:
        taken = await self._operator.take(set(losses), accept=losses, restart_at=restart_at)
        return [
            Accepted(partition, tuple(map(str, one.accepted)), one.entry.source_offset)
            for partition, one in taken.items()
        ]

    async def _restart(self, partition: TopicPartition, source_offset: int) -> Accepted:
        """Writes a new entry where the ledger has none."""
        timeout_ms = self._appliance.replicator.transaction_timeout_ms
        unheld = unheld_id(self._route.key)
        holder = await FencedCommitter(self._target, unheld, timeout_ms).open()
        there = (await self._ledger.read_as_holder(holder, [partition])).get(partition)
        if there and not _is_unreadable(there):
            raise ValueError(f"{_shown(partition)} has an entry by now; run the command again")
        source, target = (c.topic(partition.topic) for c in (self._source, self._target))
        entry = Entry(
            custody=Custody.RELEASED,
            source_offset=source_offset,
            target_offset=await self._target.log_end(*partition),
            producer_id=-1,
            epoch=-1,
            sequence=0,
            transactional_id=unheld,
            source_topic=source.id if source else None,
            target_topic=target.id if target else None,
        )
        # The number of earlier accepted losses is gone with the entry. Runs published from now on
        # must overrule all earlier ones, also those after a restart by a clock that was ahead.
        published = await self._operator.runs.published_since(())
        losses = losses_after(published, runs_key(partition, entry), int(time.time()))
        entry = replace(entry, losses=losses)
        await self._ledger.replace(holder, {partition: there} if there else {}, {partition: entry})
        return Accepted(partition, (NO_ENTRY,), source_offset)


def _is_unreadable(entry: Entry) -> bool:
    return bool(entry.parked and entry.parked.kind is LossKind.ENTRY_UNREADABLE)


def _shown(partition: TopicPartition) -> str:
    return f"{partition.topic}-{partition.partition}"
