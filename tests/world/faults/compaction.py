"""Compaction of the source: it removes records that no carrier has read, or that are under way."""

from __future__ import annotations

import asyncio

from tests.replicator.batches.source_batches import decoded
from tests.world.faults.carriers import kill_all, kill_some
from tests.world.faults.fault import Fault
from tests.world.faults.logs import entries
from tests.world.faults.moments import appended, has_records
from tests.world.kafka.replica_log import ReplicaLog
from tests.world.mirror.scene import Scene

BACKLOG_BATCHES, BACKLOG_RECORDS = (2, 5), (300, 600)


async def compact_unread(scene: Scene) -> None:
    """Some replicas of the source compact what is stable, whether it is carried or not."""
    source, carried = scene.mirroring.source, entries(scene)
    for place in scene.places:
        if scene.dice.random() < 0.5:
            continue
        partition = source.partition(*place)
        assert partition is not None
        stable = min(log.stable_offset for log in partition.logs.values())
        end = scene.dice.choice([stable, scene.dice.randint(0, stable)])
        kept, share = scene.dice.getrandbits(32), scene.dice.choice([0, 2, 5])
        sure = carried[place].source_offset if place in carried else 0
        nodes = [node for node in partition.logs if source.brokers[node].is_up]
        nodes = scene.dice.sample(nodes, scene.dice.randint(1, len(nodes))) if nodes else []
        scene.tell(f"{source.name} {nodes} compact {place.topic}-{place.partition} before {end}")
        for node in nodes:
            log = partition.logs[node]
            before = _records(log)
            log.compact(
                log.start,
                end,
                lambda at, kept=kept, share=share: (at * 2654435761 ^ kept) % 7 < share,
            )
            gone = before.keys() - _records(log).keys()
            scene.compactions.note(place, (before[at] for at in gone if at >= sure))


async def compact_backlog(scene: Scene) -> None:
    """Lets records pile up while no carrier runs, and removes all but every second or third. In
    half of the cases carriers are killed amid the others."""
    source, place = scene.mirroring.source, scene.dice.choice(scene.places)
    partition = source.partition(*place)
    assert partition is not None
    await kill_all(scene)
    begin = max(log.end for log in partition.logs.values())
    sender = next(it for it in scene.senders if it.place == place)
    for _ in range(scene.dice.randint(*BACKLOG_BATCHES)):
        await sender.send(scene.dice.randint(*BACKLOG_RECORDS))
    step = scene.dice.choice([2, 3])
    scene.tell(f"{source.name} compacts {place.topic}-{place.partition} from {begin} on")
    for log in partition.logs.values():
        before = _records(log)
        log.compact(begin, log.stable_offset, lambda at: at % step == 0)
        scene.compactions.note(place, (before[at] for at in before.keys() - _records(log).keys()))
    await scene.plan()
    carried = scene.mirroring.target.partition(*place)
    assert carried is not None
    if scene.dice.random() < 0.5 and await appended([carried], has_records):
        await asyncio.sleep(scene.dice.uniform(0.0, 0.5))
        kill_some(scene)
        await scene.plan()


def _records(log: ReplicaLog) -> dict[int, bytes]:
    batches = [batch for batch in log.batches if not batch.is_marker]
    return {it.offset: it.value or b"" for batch in batches for it in decoded(batch.data)}


COMPACTION = (
    Fault("compact what is not carried", compact_unread),
    Fault("compact a backlog", compact_backlog),
)
