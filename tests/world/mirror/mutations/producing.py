"""Mutations of what a carrier does around its batches: rules 6, 7, 14 and 29 to 32."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from math import inf

from replicator.batches.outgoing_batch import OutgoingBatch
from replicator.kafka.client.loss import Loss
from replicator.mirror.carrier.carrier_assembly import Makers
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.refusals import Refusal
from replicator.mirror.carrier.retransmission import Retransmission
from replicator.mirror.carrier.sender import Sender
from tests.world.mirror.hasty_expiry import EXPIRY_SECONDS
from tests.world.mirror.mutations.mutation import Mutation, adapted


class Unconfirmed(Sender):
    """Takes its producer for unfenced without a commit."""

    async def confirm_unfenced(self, _: list[PartitionPipeline]) -> bool:
        return True


class RunsLater(ProgressCommitter):
    """Publishes runs while the entries that pass them are committed."""

    _publishings: tuple[asyncio.Task[None], ...] = ()

    async def publish_runs(self) -> None:
        publishing = asyncio.ensure_future(super().publish_runs())
        self._publishings = (*self._publishings[-9:], publishing)


class NeverAlone(PartitionPipeline):
    """Fills the window from the first batch on."""

    is_alone = property(lambda _: False, lambda *_: None)  # type: ignore[assignment]


def _never_alone(pipeline: PartitionPipeline) -> None:
    pipeline.__class__ = NeverAlone


class LeavesInFlight(PartitionPipeline):
    """Counts as empty once it settles, whatever is in flight."""

    @property
    def is_empty(self) -> bool:
        return self.is_settling or super().is_empty


def _leaves_in_flight(pipeline: PartitionPipeline) -> None:
    pipeline.__class__ = LeavesInFlight


def _believes_errors(_: int) -> bool:
    return False


def _whole_batch(batches: Sequence[OutgoingBatch], refusal: Refusal, _: float) -> Loss:
    """Gives up all records of a refused batch."""
    return refusal.loss(batches[0].first_offset, batches[0].next_offset)


def _any_times(*_: object) -> None:
    """Sees no loss in other timestamps."""


AGREEING_SECONDS = EXPIRY_SECONDS - 1.0
"""Age up to which the target surely remembers a producer, if its clock is that of the carrier."""


MUTATIONS = (
    Mutation(6, "the first batch is not alone", adapted(_never_alone), "expiry"),
    Mutation(
        29, "a leaving partition is released with batches in flight", adapted(_leaves_in_flight)
    ),
    Mutation(7, "a new connection is not confirmed", Makers(sender=Unconfirmed), "zombies"),
    Mutation(14, "runs are not awaited", Makers(progress_committer=RunsLater)),
    Mutation(
        30,
        "old batches in doubt are sent again",
        Makers(retransmission=partial(Retransmission, remembered_seconds=inf)),
        "expiry",
    ),
    Mutation(
        30,
        "the age of batches in doubt leaves no room for clocks",
        Makers(retransmission=partial(Retransmission, remembered_seconds=AGREEING_SECONDS)),
        "mirror_clocks",
    ),
    Mutation(
        30,
        "a batch that is answered with an error counts as not appended",
        Makers(sender=partial(Sender, may_have_appended=_believes_errors)),
        "elections",
    ),
    Mutation(
        31,
        "all records of a refused batch are left out",
        Makers(retransmission=partial(Retransmission, next_step=_whole_batch)),
        "refusals",
    ),
    Mutation(
        32,
        "replaced timestamps are not noticed",
        Makers(sender=partial(Sender, stamped_times=_any_times)),
        "times",
    ),
)
