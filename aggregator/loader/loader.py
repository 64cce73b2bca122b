"""Loader: loads its partitions of one feed from one cluster until the epoch ends, in one or more
sessions.

An error of one partition parks that partition. An error of the producer or the cluster ends the
loader session; the next one begins from the intents.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

import pyarrow as pa
from aiokafka.errors import KafkaError

from aggregator.loader.counters import RESTARTS
from aggregator.loader.loader_assembly import assemble
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.loader_session import LoaderSession
from aggregator.loader.receipts import BlockReceipts, to_arrow
from replicator.config.topology import Appliance
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Fenced, ProducerStateLost
from replicator.notices.condition import Kind, Subject
from replicator.notices.conditions import Conditions
from replicator.runtime.backoff import Backoff
from replicator.spark.driver_command import TermSuperseded

log = logging.getLogger(__name__)

PAUSE_SECONDS = (0.05, 5.0)
"""Shortest and longest pause between two sessions; it doubles while sessions end early."""

MakeSession = Callable[[Appliance, LoaderAssignment, BlockReceipts, LoaderCounts], LoaderSession]


async def load(
    appliance: Appliance,
    assignment: LoaderAssignment,
    make_session: MakeSession = assemble,
    conditions: Conditions | None = None,
) -> pa.RecordBatch:
    """Loads until the deadline, a newer plan or the driver's stop; then drains and releases.

    Returns a receipt per block.

    Args:
        conditions: of the loader; None: nobody asks for them.

    Raises:
        TermSuperseded: another driver leads; the last session held no partition.
    """
    receipts = BlockReceipts()
    loader_counts = LoaderCounts()
    conditions = conditions or Conditions("loader")
    session: LoaderSession | None = None
    backoff = Backoff(*PAUSE_SECONDS)
    try:
        while time.monotonic() < assignment.deadline:
            session = make_session(appliance, assignment, receipts, loader_counts)
            session.conditions = conditions
            began = time.monotonic()
            try:
                await session.run()
                break
            except (Fenced, ProducerStateLost) as error:
                log.warning("event=start-over %s: %s", assignment.log_fields, error)
                loader_counts.add(RESTARTS, "fenced")
            except (Answered, Unreachable, KafkaError, OSError) as error:
                log.error("event=loader-waits %s: %s", assignment.log_fields, error)
                about = Subject(feed=assignment.feed.name, cluster=str(assignment.cluster))
                conditions.replace(Kind.LOADER_WAITS, {about: str(error)})
                loader_counts.add(RESTARTS, "unreachable")
            except TermSuperseded:
                raise
            except Exception:
                loader_counts.add(RESTARTS, "failed")
                raise
            # An error that ends every session within moments must not be retried at once: each
            # session fences the one before it.
            if time.monotonic() - began > PAUSE_SECONDS[1]:
                backoff.reset()
            else:
                backoff.grow()
            await asyncio.sleep(backoff.jittered(0.5, 1.5))
    finally:
        # The next call counts anew.
        if session is not None:
            await session.reporting.finish()
    return to_arrow(
        assignment.feed.name,
        assignment.cluster,
        assignment.number,
        assignment.plan_version,
        receipts.kept,
    )
