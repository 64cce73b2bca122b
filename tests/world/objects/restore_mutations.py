"""Mutations of restores: records are in other transactions than their entries (49)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aggregator.loader.loader_assembly import MAKERS
from aggregator.restore.restore import Makers
from aggregator.restore.restore_entry import RestoreEntry
from aggregator.restore.restore_session import RestoredPartition, RestoreSession
from balancer.topic_partition import TopicPartition
from replicator.batches.outgoing_batch import OutgoingBatch
from tests.world.objects.scene import RESTORES
from tests.world.sinks.mutation import Mutation

Taken = Sequence[tuple[RestoredPartition, Sequence[OutgoingBatch]]]


def _passed(taken: Taken) -> dict[TopicPartition, RestoreEntry]:
    """Returns the entries behind what was taken."""
    return {
        each.place: each.entry.passed(
            each.position_behind(batches), sum(it.count for it in batches)
        )
        for each, batches in taken
    }


class RecordsBefore(RestoreSession):
    """Commits records in a transaction of their own, before that of their entries."""

    async def _commit(self, taken: Taken) -> None:
        before, passed = {each.place: each.entry for each, _ in taken}, _passed(taken)
        await self.entries.commit(self.fenced_committer, before, effects=self._effects(taken))
        await self.entries.commit(self.fenced_committer, passed)
        for each, batches in taken:
            each.entry = passed[each.place]
            each.sequence += sum(it.count for it in batches)
        self.note(passed)


class EntriesBefore(RestoreSession):
    """Commits entries in a transaction of their own, before that of their records."""

    async def _commit(self, taken: Taken) -> None:
        await self.entries.commit(self.fenced_committer, _passed(taken))
        await super()._commit(taken)


MUTATIONS = tuple(
    Mutation(49, name, MAKERS, replace(RESTORES, restores=makers))
    for name, makers in (
        ("restored records come before their entry", Makers(session=RecordsBefore)),
        ("entries come before restored records", Makers(session=EntriesBefore)),
    )
)
