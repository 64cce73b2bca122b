"""Parking: stops carrying a partition that has a loss, until an operator decides."""

from __future__ import annotations

from dataclasses import dataclass

from replicator.kafka.client.loss import Loss
from replicator.mirror.carrier.acquisition import Acquisition
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.reassignment import Reassignment
from replicator.mirror.carrier.receipt_book import ReceiptBook


@dataclass(eq=False)
class Parking:
    """Parks pipelines of one carrier session; the others continue.

    Args:
        committer: commits the parked entry and removes the pipeline.
        reassignment: knows whether the partition still belongs to this carrier.
        acquisition: retries a partition that is parked, and reports it.
    """

    committer: ProgressCommitter
    reassignment: Reassignment
    acquisition: Acquisition
    receipts: ReceiptBook

    async def park(self, pipeline: PartitionPipeline, loss: Loss) -> None:
        """Parks one pipeline.

        If the partition was reassigned, its new carrier reports the park, and retries it. If nobody
        owns the partition, this carrier reports it.
        """
        if not await self.committer.park(pipeline, loss):
            return  # the carrier no longer has the partition
        partition = pipeline.partition
        self.receipts.carrier_counts.lost([partition])
        if partition in self.reassignment.own:
            self.acquisition.note_parked(partition, str(loss))
            return
        self.committer.parked.pop(partition, None)
        if self.reassignment.is_unassigned(partition):
            self.acquisition.say_parked(partition, str(loss))
