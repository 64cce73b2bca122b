"""Faults about transactional ids: of carriers that stand still as they release, and of ids whose
epochs are used up.

Only courses that name them deal them (`mirror/courses.py`).
"""

from __future__ import annotations

import asyncio

from replicator.config.names import carrier_id
from replicator.kafka.client.fenced_committer import base_id
from replicator.mirror.ledger.entry import Custody, decode
from replicator.mirror.ledger.ledger import groups_of
from tests.world.faults.carriers import stop_for
from tests.world.faults.fault import Fault
from tests.world.faults.moments import appended
from tests.world.kafka.group_requests import OffsetCommit
from tests.world.kafka.kafka_cluster import GROUPS, TRANSACTIONS
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.transaction_log import State, Transaction
from tests.world.kafka.transaction_requests import EPOCH_MAX
from tests.world.kafka.transactional_ids import raise_epochs
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.played_spark import SILENT_SECONDS
from tests.world.mirror.scene import Scene
from tests.world.process import Process

READ_BACK_SECONDS = 0.01
"""Time between the end of a transaction and the first look for its offsets."""
EPOCHS_LEFT = 26
"""Opens of an id until its epochs begin anew; an entry is taken over within fewer."""


async def stop_as_they_release(scene: Scene) -> None:
    """Exchanges partitions, and stops the first carrier that releases one before it has read its
    commit back; another one gets the partition."""
    logs = scene.mirroring.target.topics
    ending: list[Transaction] = []
    releasing: set[int] = set()

    def is_release(batch: Batch) -> bool:
        found = batch.value
        if isinstance(found, OffsetCommit) and _releases(found):
            releasing.add(batch.producer_id)
        if not isinstance(found, Transaction) or found.state is not State.PREPARE_COMMIT:
            return False
        ending.append(found)
        return found.producer_id in releasing

    numbers, exchanged = [*scene.loads], [*reversed(scene.loads.values())]
    await scene.place(dict(zip(numbers, exchanged, strict=True)))
    if not await appended([*logs[GROUPS].partitions, *logs[TRANSACTIONS].partitions], is_release):
        return
    await asyncio.sleep(scene.dice.uniform(0.0, READ_BACK_SECONDS))
    seconds = scene.dice.uniform(6.0, SILENT_SECONDS - 1.0)
    for victim in scene.running():
        if base_id(ending[-1].transactional_id) in _ids(victim):
            stop_for(scene, victim, seconds)
    # A further plan would end the epoch, and nobody would take the partition.
    await asyncio.sleep(seconds)


def _releases(commit: OffsetCommit) -> bool:
    """Returns True for a commit that releases a partition of the route."""
    return commit.group in groups_of(ROUTE) and any(
        text and decode(offset, text).custody is Custody.RELEASED
        for _, (offset, text) in commit.rows
    )


def _ids(carrier: Process) -> list[str]:
    """Returns the transactional ids of a process with one or more carriers."""
    numbers = carrier.name.removeprefix("carrier ").partition(" ")[0]
    return [carrier_id(ROUTE.key, int(number)) for number in numbers.split(",")]


async def use_up_epochs(scene: Scene) -> None:
    """Leaves few epochs to all transactional ids, as if each had been opened so many times."""
    scene.tell(f"transactional ids have {EPOCHS_LEFT} epochs left")
    await raise_epochs(scene.mirroring.target, EPOCH_MAX - EPOCHS_LEFT)


IDS = (
    Fault("stop carriers as they release", stop_as_they_release),
    Fault("use epochs up", use_up_epochs),
)
