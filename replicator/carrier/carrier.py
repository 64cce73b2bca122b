"""A carrier: carries its partitions of one route to the epoch's end, in one stint or several.

What fails one partition parks it; what fails the writer ends a stint, and the next one begins from
the ledger.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time

from aiokafka.errors import KafkaError

from replicator.carrier.assignment import Assignment
from replicator.carrier.receipt_book import ReceiptBook
from replicator.carrier.receipts import Receipt
from replicator.carrier.stint import Stint
from replicator.config.topology import Appliance
from replicator.kafka.brokers import Unreachable
from replicator.kafka.cluster import Answered, Fenced, StartOver

log = logging.getLogger(__name__)

PAUSE_SECONDS = (0.05, 5.0)


async def carry(appliance: Appliance, assignment: Assignment) -> list[Receipt]:
    """Carry until the deadline, a newer epoch or the driver's stop; then drain and release.

    Returns: a receipt per partition.
    Raises:
        OtherTerm: another driver acts for the region; nothing was carried under it.
    """
    book = ReceiptBook(assignment)
    pause = PAUSE_SECONDS[0]
    while time.time() < assignment.deadline:
        stint = Stint(appliance, assignment, book)
        began = time.monotonic()
        try:
            await stint.run()
            break
        except (Fenced, StartOver) as error:
            log.warning("event=start-over route=%s carrier=%d: %s", *book.who, error)
        except (Answered, Unreachable, KafkaError, OSError) as error:
            log.error("event=carrier-waits route=%s carrier=%d: %s", *book.who, error)
        # What fails every stint within moments, such as a missing right, is not to be met again and
        # again at once: each stint fences what the one before it held.
        has_lasted = time.monotonic() - began > PAUSE_SECONDS[1]
        pause = PAUSE_SECONDS[0] if has_lasted else min(pause * 2, PAUSE_SECONDS[1])
        book.tally.restarted()
        await asyncio.sleep(pause * random.uniform(0.5, 1.5))
    return book.receipts(time.time())
