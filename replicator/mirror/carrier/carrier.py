"""Carrier: mirrors its partitions of one route until the epoch ends, in one or more sessions.

An error of one partition parks that partition. An error of the producer ends the carrier session;
the next session begins from the ledger.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable

from aiokafka.errors import KafkaError

from replicator.config.topology import Appliance
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Fenced, ProducerStateLost
from replicator.mirror.carrier.carrier_assembly import assemble
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.carrier_session import CarrierSession
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.carrier.receipts import Receipt
from replicator.notices.conditions import Conditions
from replicator.runtime.backoff import Backoff

log = logging.getLogger(__name__)

PAUSE_SECONDS = (0.05, 5.0)
"""Shortest and longest pause between two sessions; it doubles while sessions end early."""


MakeSession = Callable[[Appliance, CarrierAssignment, ReceiptBook], CarrierSession]


class SessionPauses:
    """Pauses between the sessions of one carrier: longer after each session that ends early.

    An error that ends every session within moments, such as a missing ACL, must not be retried at
    once: each session fences the one before it.

    Args:
        uniform: returns a random number between two others.
    """

    def __init__(self, uniform: Callable[[float, float], float] = random.uniform) -> None:
        self._backoff = Backoff(*PAUSE_SECONDS, uniform=uniform)

    def after(self, lasted_seconds: float) -> float:
        """Returns the seconds to wait after a session that lasted so long."""
        if lasted_seconds > PAUSE_SECONDS[1]:
            self._backoff.reset()
        else:
            self._backoff.grow()
        return self._backoff.jittered(0.5, 1.5)


async def carry(
    appliance: Appliance,
    assignment: CarrierAssignment,
    make_session: MakeSession = assemble,
    conditions: Conditions | None = None,
) -> list[Receipt]:
    """Carries until the deadline, a newer epoch or the driver's stop; then drains and releases.

    Returns a receipt per partition.

    Args:
        make_session: makes the next session.
        conditions: of the carrier; None: nobody asks for them.

    Raises:
        TermSuperseded: another driver is active for the region; the last session held no partition.
    """
    receipts = ReceiptBook(assignment, conditions)
    pauses = SessionPauses()
    while time.monotonic() < assignment.deadline:
        session = make_session(appliance, assignment, receipts)
        began = time.monotonic()
        try:
            await session.run()
            break
        except (Fenced, ProducerStateLost) as error:
            log.warning("event=start-over route=%s carrier=%d: %s", *receipts.log_fields, error)
        except (Answered, Unreachable, KafkaError, OSError) as error:
            log.error("event=carrier-waits route=%s carrier=%d: %s", *receipts.log_fields, error)
            receipts.note_waits(str(error))
        receipts.carrier_counts.restarted()
        await asyncio.sleep(pauses.after(time.monotonic() - began))
    return receipts.receipts(time.time())
