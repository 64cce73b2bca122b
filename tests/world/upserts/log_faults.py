"""Faults of the logs that an upsert table reads: records are deleted before they are stored, topics
are created anew, and an operator accepts what is lost."""

from __future__ import annotations

import time
from collections.abc import Iterable

from aggregator.upsert.tick import Lane, Stop, Tick
from replicator.orders.order_records import AcceptLaneLosses
from tests.world.faults.fault import Fault
from tests.world.kafka import log_losses
from tests.world.sinks.loaded_feed import FEED
from tests.world.sinks.loader_faults import later
from tests.world.upserts.scene import CLUSTERS, Scene
from tests.world.upserts.stored import TABLE


async def delete_records(scene: Scene) -> None:
    """Has retention delete records of a partition, some of which no tick has taken perhaps."""
    lane = scene.dice.choice([it for it in scene.truth.records if is_there(scene, it)])
    seen = scene.truth.records[lane].committed
    _delete(scene, lane, scene.dice.randint(max(0, seen - 6), seen))


async def delete_at_tick(scene: Scene) -> None:
    """Has retention delete records of the next tick, soon after it was committed."""
    seconds, part = scene.dice.choice([0.0, 0.02, 0.2]), scene.dice.random()

    def strike(tick: Tick) -> None:
        taken = zip(tick.lanes, tick.ranges, strict=True)
        full = [(lane, it) for lane, it in taken if it.end > it.begin and is_there(scene, lane)]
        if full:
            scene.truth.tick_seen.remove(strike)
            lane, (begin, end) = full[tick.number % len(full)]
            later(scene, seconds, _delete, scene, lane, end - int(part * (end - begin)))

    scene.truth.tick_seen.append(strike)


def is_there(scene: Scene, lane: Lane) -> bool:
    """Returns True unless the topic of a lane is gone."""
    return scene.clusters[lane.cluster].partition(lane.topic_id, lane.partition) is not None


def _delete(scene: Scene, lane: Lane, end: int) -> None:
    partition = scene.clusters[lane.cluster].partition(lane.topic_id, lane.partition)
    if partition is None or scene.is_mended:
        return
    leader, end = partition.decided.leader, min(end, scene.truth.records[lane].committed)
    if leader in partition.logs and partition.logs[leader].start < end:
        scene.tell(f"{lane.cluster} deletes {lane.topic}-{lane.partition} before {end}")
        log_losses.delete_unread(scene.clusters[lane.cluster], partition, end)


async def create_anew(scene: Scene) -> None:
    """Deletes a topic and creates it again, at once or just when a tick was committed."""
    name, (topic, _) = scene.dice.choice(list(CLUSTERS.items()))
    seconds = scene.dice.choice([0.0, 0.02])

    def recreate() -> None:
        if not scene.is_mended:
            scene.tell(f"{name} deletes {topic}, and creates it again")
            log_losses.recreate(scene.clusters[name], topic)
            scene.watch(name, topic)

    def strike(_: Tick) -> None:
        scene.truth.tick_seen.remove(strike)
        later(scene, seconds, recreate)

    if scene.dice.random() < 0.5:
        recreate()
    else:
        scene.truth.tick_seen.append(strike)


async def accept_losses(scene: Scene) -> None:
    accept(scene)


def accept(scene: Scene) -> None:
    """Accepts all losses that the newest tick names, as `sluice upsert accept-loss --yes` does."""
    newest = scene.truth.ticks.get(max(scene.truth.ticks, default=0))
    if newest is None:
        return
    losses = set(_open(newest.stops)) | set(_open(newest.gaps))
    if not losses - scene.truth.accepted:
        return
    scene.truth.accepted |= losses
    named = [(it.lane, it.loss.kind.value, it.loss.begin, it.loss.end) for it in losses]
    scene.tell(f"accept {sorted(named, key=str)}")
    scene.order(
        AcceptLaneLosses(
            route=FEED,
            at_ms=round(time.time() * 1000),
            who="an operator",
            table=TABLE,
            losses=tuple(sorted(named, key=str)),
        )
    )


def _open(stops: Iterable[Stop]) -> list[Stop]:
    return [it for it in stops if not it.is_accepted]


FAULTS: tuple[Fault[Scene], ...] = (
    Fault("delete records", delete_records, 2),
    Fault("delete records of a tick", delete_at_tick, 3),
    Fault("create a topic anew", create_anew, 1),
    Fault("accept losses", accept_losses, 4),
)
"""Dealt only where a course names them."""
