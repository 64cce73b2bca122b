"""Mutations of what a carrier does around its batches: rules 7, 14 and 30."""

from __future__ import annotations

import asyncio
from functools import partial
from math import inf
from typing import Any

from replicator.mirror.carrier.assembly import Makers
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.retransmission import Retransmission
from replicator.mirror.carrier.sender import Sender
from tests.world.mutation import Mutation


async def _confirm_nothing(_: list[PartitionPipeline]) -> bool:
    return True


def _unconfirmed(node: int, **parts: Any) -> Sender:
    """Returns a sender that takes its producer for unfenced without a commit."""
    return Sender(node, **{**parts, "confirm_unfenced": _confirm_nothing})


class RunsLater(ProgressCommitter):
    """Publishes runs while the entries that pass them are committed."""

    _publishings: tuple[asyncio.Task[None], ...] = ()

    async def publish_runs(self) -> None:
        publishing = asyncio.ensure_future(super().publish_runs())
        self._publishings = (*self._publishings[-9:], publishing)


MUTATIONS = (
    Mutation(7, "a new connection is not confirmed", Makers(sender=_unconfirmed)),
    Mutation(14, "runs are not awaited", Makers(progress_committer=RunsLater)),
    Mutation(
        30,
        "old batches in doubt are sent again",
        Makers(retransmission=partial(Retransmission, remembered_seconds=inf)),
    ),
)
