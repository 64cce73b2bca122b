"""Mutations that pass over losses in the log, or stop too much for them (43)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from aggregator.loader.acquisition import Acquisition
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.loader_assembly import Makers
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.client.source_checks import SourceChecks
from replicator.kafka.client.source_inspection import SourceFindings
from tests.world.mirror.mutations.losses import CredulousChecks
from tests.world.objects.scene import Course
from tests.world.sinks.mutation import Mutation

LOSSES = Course(loses=True)
FEW_KINDS = Course(
    loses=True,
    only=("unclean election", "delete what is not passed", "stop a loader", "kill a loader"),
    fault_seconds=3.0,
)
"""Course in which little else happens, so that most partitions lose something once."""


def _one_less(loss: Loss | None) -> Loss | None:
    """Returns a loss without its first offset."""
    if loss is None or loss.end is None:
        return loss
    return replace(loss, begin=min(loss.begin + 1, loss.end - 1))


class NamesOneLessAtTakeover(Acquisition):
    """Names the losses that a takeover finds without the first offset."""

    async def _looked(self, *intents: Any) -> dict[Any, SourceFindings]:
        found = await super()._looked(*intents)
        return {place: replace(each, loss=_one_less(each.loss)) for place, each in found.items()}


class PassesDeletedAtTakeover(Acquisition):
    """Takes partitions over whose next records retention took."""

    async def _looked(self, *intents: Any) -> dict[Any, SourceFindings]:
        found = await super()._looked(*intents)
        return {
            place: replace(each, loss=None) if _is_deletion(each.loss) else each
            for place, each in found.items()
        }


def _is_deletion(loss: Loss | None) -> bool:
    return loss is not None and loss.kind is LossKind.RETENTION_PASSED


class FindingChecks(SourceChecks):
    """Checks that do something else about a loss than to park its partition.

    Args:
        act: is told the partition with its loss.
    """

    def __init__(self, act: Callable[[FindingChecks, Any], object], *parts: Any) -> None:
        super().__init__(*parts)
        self._act = act

    async def _check(self, pipeline: Any) -> None:
        await super()._check(pipeline)
        if pipeline.loss_to_park:
            self._act(self, pipeline)


def _name_one_less(_: FindingChecks, partition: HeldPartition) -> None:
    partition.loss_to_park = _one_less(partition.loss_to_park)


def _pass_deleted(_: FindingChecks, partition: HeldPartition) -> None:
    """Goes on at the log's begin, as behind what compaction took."""
    loss = partition.loss_to_park
    if loss and loss.end is not None and _is_deletion(loss):
        partition.loss_to_park = None
        partition.progress.add(np.empty(0, np.int64), loss.end, {}, time.time())


def _park_all(checks: FindingChecks, partition: HeldPartition) -> None:
    for each in checks.pipelines.values():
        each.loss_to_park = partition.loss_to_park


def _finding(act: Callable[[FindingChecks, Any], object], **others: Any) -> Makers:
    return Makers(source_checks=lambda *parts: FindingChecks(act, *parts), **others)


MUTATIONS = (
    Mutation(
        43,
        "new leaders of the log are not checked",
        Makers(source_checks=CredulousChecks),
        FEW_KINDS,
    ),
    Mutation(
        43,
        "one lost record of the log is not named",
        _finding(_name_one_less, acquisition=NamesOneLessAtTakeover),
        FEW_KINDS,
    ),
    Mutation(
        43,
        "what retention took is passed",
        _finding(_pass_deleted, acquisition=PassesDeletedAtTakeover),
        FEW_KINDS,
    ),
    Mutation(43, "a loss stops all partitions", _finding(_park_all), FEW_KINDS),
)
