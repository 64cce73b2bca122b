"""Mutations that pass over losses; only a course that loses can find them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.epoch_regress import CheckedPartition, EpochRegress
from replicator.kafka.client.loss import Loss
from replicator.kafka.client.source_checks import SourceChecks
from replicator.mirror.carrier.carrier_assembly import Makers
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.sender import Sender
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.fenced_tails import FencedTails
from replicator.mirror.ledger.inspection import TargetFindings, inspect_target
from replicator.mirror.ledger.takeover import Takeover
from tests.world.mirror.mutations.mutation import Mutation


async def see_no_loss(cluster: Cluster, partition: TopicPartition, entry: Entry) -> TargetFindings:
    return replace(await inspect_target(cluster, partition, entry), loss=None)


async def see_one_record_less(
    cluster: Cluster, partition: TopicPartition, entry: Entry
) -> TargetFindings:
    """Names the lost offsets of the target without the first one."""
    found = await inspect_target(cluster, partition, entry)
    if found.loss is None or found.loss.end is None:
        return found
    begin = min(found.loss.begin + 1, found.loss.end - 1)
    return replace(found, loss=Loss(found.loss.kind, begin, found.loss.end))


class CredulousChecks(SourceChecks):
    """Takes every new leader of the source for one that has everything."""

    async def _check(self, pipeline: CheckedPartition) -> None:
        await self.source.try_refresh()
        leader = self.source.leader(*pipeline.partition)
        if leader is not None:
            pipeline.leader_epoch = leader.epoch


class Believing(EpochRegress):
    """Takes an older leader epoch of the source for its newest one."""

    def __init__(self, source: Cluster) -> None:
        super().__init__(source)
        self.source = source

    async def must_wait(self, pipeline: CheckedPartition) -> bool:
        reported = self.source.reported_leader(*pipeline.partition)
        if reported is not None:
            self.source.accept_leader(*pipeline.partition, reported)
        return False


def _believing(source: Cluster, pipelines: Pipelines, _: EpochRegress) -> SourceChecks:
    return SourceChecks(source, pipelines, Believing(source))


def _inspecting(inspect: object) -> Makers:
    tails = partial(FencedTails, inspect=inspect)
    return Makers(
        sender=partial(Sender, inspect=inspect),  # type: ignore[arg-type]
        takeover=partial(Takeover, tails=tails),
    )


MUTATIONS = (
    Mutation(13, "losses in the target are not seen", _inspecting(see_no_loss), "losses"),
    Mutation(13, "one lost offset is not named", _inspecting(see_one_record_less), "losses"),
    Mutation(
        13,
        "new leaders of the source are not checked",
        Makers(source_checks=CredulousChecks),
        "losses",
    ),
    Mutation(
        34,
        "older leader epochs of the source are believed",
        Makers(source_checks=_believing),
        "source_restores",
    ),
)
