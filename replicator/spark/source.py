"""Spark's stream `sluice`: each task of a micro-batch is a bin of carriers, its rows are receipts.

The records themselves do not pass through Spark: inside the task, carriers move them from broker to
broker. Spark places the tasks, starts them again when they fail, and returns the receipts.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from typing_extensions import override

from balancer.plan import CarrierId, bins
from replicator.config.topology import Appliance
from replicator.mirror.carrier.receipts import Receipt, spark_schema, to_arrow
from replicator.runtime.logs import log_to_stderr
from replicator.spark.driver_command import OtherTerm
from replicator.spark.posting import ApplianceFile, Posting, PostingFile

# Spark starts five Python processes for a query, of which only the workers carry. The modules of
# carriers take a second to import, so only workers import them.
if TYPE_CHECKING:
    import pyarrow as pa

    from replicator.mirror.carrier.assignment import Assignment

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.1
# Long enough that no worker is given two tasks of the first epoch.
WARM_SECONDS = 0.2
PAUSE_SECONDS_MAX = 2.0
OTHER_TERM_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Bin:
    """Carriers that share one Spark task, with all they need: executors may be on any host."""

    appliance: Appliance
    assignments: tuple[Assignment, ...]
    deadline: float
    """End of the epoch in Unix seconds, by the driver's clock."""


class SluiceSource(DataSource):
    """Data source `sluice`.

    Options: appliance and posting (the daemon's files, on this host); slots (how many tasks the
    first epoch has).
    """

    @classmethod
    def name(cls) -> str:
        return "sluice"

    @override
    def schema(self) -> str:
        return spark_schema()

    @override
    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return EpochReader(
            ApplianceFile(Path(self.options["appliance"])),
            PostingFile(Path(self.options["posting"])),
            int(self.options["slots"]),
        )


class EpochReader(DataSourceStreamReader):
    """Stream reader whose offsets count epochs.

    Runs on the driver's host, except for `read`, which runs in tasks.

    The first epoch carries nothing: it starts Spark's Python workers and makes Spark's own plan,
    which takes seconds. A driver waits for it before it takes the region over from another driver.
    """

    def __init__(self, appliance: ApplianceFile, postings: PostingFile, slots: int):
        self._appliance = appliance
        self._postings = postings
        self._slots = slots

    @override
    def initialOffset(self) -> dict[str, int]:
        return {"epoch": 0}

    @override
    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        """Returns the next epoch. Waits while there is none to carry: Spark asks without pause."""
        while start["epoch"] > 0:
            posting = self._postings.read()
            if posting and posting.stop:
                quiet()
                time.sleep(LOOK_SECONDS)
                return start
            if posting and posting.plan.partitions:
                break
            time.sleep(LOOK_SECONDS)
        return {"epoch": start["epoch"] + 1}

    @override
    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        if start["epoch"] == 0:
            return [InputPartition(None)] * self._slots
        posting = self._postings.read()
        if posting is None or posting.stop:
            return []
        appliance = self._appliance.read()
        return [InputPartition(each) for each in binned(appliance, posting, time.time())]

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs the carriers of one bin until the epoch ends, and yields their receipts.

        Repeating it is harmless, since progress comes from the ledger. Never raises because of a
        single partition or carrier.
        """
        log_to_stderr()
        each: Bin | None = partition.value
        if each is None:
            import_module("replicator.mirror.carrier.carrier")
            time.sleep(WARM_SECONDS)
            return
        late = time.time() - each.deadline
        if late >= 0:
            log.warning("event=too-late seconds=%.0f: the epoch of this task is over", late)
            return
        receipts = uvloop.run(carried(each))
        if receipts:
            yield to_arrow(receipts)


def quiet() -> None:
    """Silences stderr: this process could only report that Spark has closed its pipe."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)


def binned(appliance: Appliance, posting: Posting, now: float) -> list[Bin]:
    """Returns the bins of the epoch that begins now, one for each task."""
    deadline = now + appliance.replicator.epoch_seconds
    return [
        Bin(
            appliance,
            tuple(assigned(appliance, posting, carrier, deadline) for carrier in carriers),
            deadline,
        )
        for carriers in bins(posting.plan, posting.slots)
    ]


def assigned(
    appliance: Appliance, posting: Posting, carrier: CarrierId, deadline: float
) -> Assignment:
    """Returns the assignment of one carrier for the epoch."""
    from replicator.mirror.carrier.assignment import Assignment

    partitions = posting.plan.loads[carrier]
    topics = {partition.topic for partition in partitions} & posting.limits.keys()
    return Assignment(
        route=next(route for route in appliance.routes if route.key == carrier.route),
        number=carrier.number,
        partitions=partitions,
        term=posting.term,
        plan_version=posting.plan.version,
        deadline=deadline,
        max_message_bytes=tuple((topic, posting.limits[topic]) for topic in sorted(topics)),
    )


async def carried(each: Bin) -> list[Receipt]:
    """Runs the carriers of a bin; returns all receipts once the last one has ended its epoch."""
    receipts = await asyncio.gather(
        *(kept_up(each.appliance, assignment) for assignment in each.assignments)
    )
    return [receipt for some in receipts for receipt in some]


async def kept_up(appliance: Appliance, assignment: Assignment) -> list[Receipt]:
    """Runs one carrier for an epoch and returns its receipts.

    A carrier that fails is started again within the epoch. A failed task would take down its whole
    bin, and every other carrier in it.
    """
    from replicator.mirror.carrier.carrier import carry

    who = f"route={assignment.route} carrier={assignment.number}"
    log.info(
        "event=epoch %s partitions=%d plan=%d",
        who,
        len(assignment.partitions),
        assignment.plan_version,
    )
    pause = 0.5
    while True:
        try:
            return await carry(appliance, assignment)
        except OtherTerm as error:
            log.info("event=other-term %s: %s", who, error)
            # Not at once: until its driver learns of the newer one, it would start this carrier
            # again.
            await asyncio.sleep(OTHER_TERM_SECONDS)
            return []
        except Exception:
            log.exception("event=carrier-failed %s again_in_seconds=%.1f", who, pause)
        pause = min(pause * 2, PAUSE_SECONDS_MAX)
        if time.time() + pause >= assignment.deadline:
            return []
        await asyncio.sleep(pause)
