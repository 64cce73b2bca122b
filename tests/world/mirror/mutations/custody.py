"""Mutations of custody: who may replace an entry, and with which."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from balancer.topic_partition import TopicPartition
from replicator.config.names import driver_id
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import Effects, FencedCommitter, OffsetRows, WasThere
from replicator.mirror.carrier.carrier_assembly import Makers
from replicator.mirror.carrier.command_follower import CommandFollower
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.ledger import Ledger, virgin
from replicator.mirror.ledger.takeover import Takeover
from replicator.mirror.offset_map.runs_tail import LastRun, Positions, RunsTail
from replicator.mirror.offset_map.runs_topic import RunsKey
from replicator.mirror.repair.rewind import Rewind
from replicator.spark.driver_command import read_command
from tests.world.mirror.mutations.mutation import Mutation
from tests.world.mirror.parts import Parts


class ReadOnce(Ledger):
    """Returns forever what it read first."""

    async def read(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Entry]:
        wanted = list(partitions)
        known: dict[TopicPartition, Entry] = self.__dict__.setdefault("known", {})
        known.update({**(await super().read(wanted)), **known})
        return {place: known[place] for place in wanted if place in known}


class OwnCommits(Ledger):
    """Commits with the carrier's own id, and not with that of the entry."""

    own: FencedCommitter

    async def replace(
        self,
        holder: FencedCommitter,
        before: Mapping[TopicPartition, Entry],
        entries: Mapping[TopicPartition, Entry],
        *,
        effects: Effects | None = None,
    ) -> None:
        await super().replace(self.own, before, entries, effects=effects)


def _reading_once(**parts: Any) -> Takeover:
    old = parts["ledger"]
    ledger = ReadOnce(parts["target"], old.route, parts["runs"])
    return Takeover(**{**parts, "ledger": ledger})


def _committing_itself(**parts: Any) -> Takeover:
    old = parts["ledger"]
    ledger = OwnCommits(parts["target"], old.route, parts["runs"])
    ledger.own = parts["fenced_committer"]
    return Takeover(**{**parts, "ledger": ledger})


class BeginsAnew(Ledger):
    """Returns a virgin entry where there is none."""

    cluster: Cluster

    async def read(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Entry]:
        wanted = list(partitions)
        found = await super().read(wanted)
        for place in wanted:
            if place not in found:
                found[place] = virgin(self, await self.cluster.log_end(*place))
        return found


def _beginning_anew(**parts: Any) -> Takeover:
    ledger = BeginsAnew(parts["target"], parts["ledger"].route, parts["runs"])
    ledger.cluster = parts["target"]
    return Takeover(**{**parts, "ledger": ledger})


def _believing(**parts: Any) -> Takeover:
    """Does not read the runs that were published since an entry."""
    runs: RunsTail = parts["runs"]

    async def read_nothing(positions: Positions) -> dict[RunsKey, LastRun]:
        await runs.look()
        return {}

    runs.published_since = read_nothing  # type: ignore[method-assign]
    return Takeover(**parts)


class BeginsAgain(FencedCommitter):
    """Begins every acquired partition at sequence 0."""

    def next_sequence(self, partition: TopicPartition) -> int:
        return 0


class BelievesInCommits(FencedCommitter):
    """Takes every commit for shown once EndTxn is answered."""

    async def still_hidden(self, groups: Any) -> Any:
        return {}


class DoesNotRepeat(FencedCommitter):
    """Reads commits back, and leaves those hidden that are not shown."""

    async def still_hidden(self, groups: Any) -> Any:
        await super().still_hidden(groups)
        return {}


class RepeatsAll(FencedCommitter):
    """Repeats a hidden commit, whatever is shown in its place."""

    async def commit(
        self,
        groups: Mapping[str, OffsetRows],
        was_there: WasThere,
        effects: Effects | None = None,
    ) -> None:
        await super().commit(groups, lambda *_: True, effects)


class NeverRotated(FencedCommitter):
    """Opens its id until its epochs begin anew."""

    def rotated(self) -> FencedCommitter:
        return self


def _rewinding_at_once(*args: Any) -> Rewind:
    """Returns a rewind that does not read an entry again before it replaces it."""
    return Rewind(*args, ledger=ReadOnce)


class GoesOn(CommandFollower):
    """Takes the commands of another driver for those of its own."""

    async def follow(self) -> bool:
        asked_at = time.monotonic()
        command = await read_command(self.target, driver_id(self.assignment.route.target))
        if command is None or command.term == self.assignment.term:
            return await super().follow()
        self.acquisition.heard(asked_at)
        return True


MUTATIONS = (
    Mutation(1, "the entry is not read again", Makers(takeover=_reading_once)),
    Mutation(
        1,
        "the entry is replaced under another id",
        Makers(takeover=_committing_itself),
        "takeovers",
    ),
    Mutation(
        1,
        "a rewind does not read the entry again",
        Makers(),
        "releases",
        parts=Parts(rewind=_rewinding_at_once),
    ),
    Mutation(8, "each partition begins at sequence 0", Makers(fenced_committer=BeginsAgain)),
    Mutation(9, "a missing entry begins anew", Makers(takeover=_beginning_anew), "ledgers"),
    Mutation(9, "published runs are not read", Makers(takeover=_believing), "ledgers"),
    Mutation(11, "carriers of an older driver go on", Makers(command_follower=GoesOn)),
    Mutation(
        12, "commits are not read back", Makers(fenced_committer=BelievesInCommits), "takeovers"
    ),
    Mutation(
        12, "a hidden commit is not repeated", Makers(fenced_committer=DoesNotRepeat), "takeovers"
    ),
    Mutation(
        12,
        "a hidden commit is repeated over a later one",
        Makers(fenced_committer=RepeatsAll),
        "releases",
    ),
    Mutation(10, "ids are not rotated", Makers(fenced_committer=NeverRotated), "epochs"),
)
