"""Command follower: applies the driver command to a carrier session."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass

from replicator.config.names import driver_id
from replicator.kafka.client.cluster import Cluster
from replicator.mirror.carrier.acquisition import Acquisition
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.reassignment import Reassignment
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.spark.driver_command import TermSuperseded, read_command

log = logging.getLogger(__name__)


@dataclass(eq=False)
class CommandFollower:
    """Reads the driver command from the target.

    Args:
        reassignment: follows a command that moves partitions within the epoch.
        acquisition: notes when a command was read.
        ending: set by a command that ends the epoch.
    """

    assignment: CarrierAssignment
    target: Cluster
    pipelines: Pipelines
    reassignment: Reassignment
    acquisition: Acquisition
    receipts: ReceiptBook
    ending: asyncio.Event

    async def follow(self) -> bool:
        """Applies the driver command once.

        Returns False if no command of our driver or a later one can be read yet.

        Raises:
            TermSuperseded: another driver is active, and no partition is held.
        """
        asked_at = time.monotonic()
        command = await read_command(self.target, driver_id(self.assignment.route.target))
        term = self.assignment.term
        if command is None or command.is_before(term, self.assignment.plan_version):
            # Our driver publishes its command right after the plan. A coordinator that has just
            # moved may not know it yet.
            return False
        if command.term != term:
            if not self.pipelines:
                raise TermSuperseded(f"the leading driver is {command.term}")
            log.warning("event=other-term route=%s carrier=%d: draining", *self.receipts.log_fields)
            self.ending.set()
        elif command.stop or command.delta.since > self.assignment.plan_version:
            self.ending.set()
        else:
            self.reassignment.apply(command)
        self.acquisition.heard(asked_at)
        return True
