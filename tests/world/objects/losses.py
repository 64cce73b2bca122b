"""Losses in the log that is loaded: they park their partition, and are never silent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import TableRange
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import LossKind
from tests.replicator.batches.source_batches import Record, decoded
from tests.world.faults.fault import Fault
from tests.world.faults.losses import any_partition, recreate_topic, unclean_election
from tests.world.kafka import log_losses
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.log_losses import LossCause, LostRange
from tests.world.kafka.partition import NOBODY
from tests.world.objects.log_ranges import LogRanges
from tests.world.objects.object_load import Destination
from tests.world.process import Process
from tests.world.sinks.loader_faults import strike_later

if TYPE_CHECKING:
    from tests.world.objects.object_feeding import ObjectFeeding
    from tests.world.objects.scene import Scene
    from tests.world.objects.step_checks import StepChecks

EVERYTHING = 1 << 60
CAUSE_OF = {
    LossKind.SOURCE_TRUNCATED: LossCause.UNCLEAN_ELECTION,
    LossKind.RETENTION_PASSED: LossCause.RETENTION,
    LossKind.SOURCE_RECREATED: LossCause.RECREATION,
    LossKind.SOURCE_DELETED: LossCause.RECREATION,
}

# -- faults


async def delete_unread(scene: Scene) -> None:
    """Retention deletes records that are not passed yet."""
    partition = any_partition(scene, scene.feeding.cluster)
    if (leader := partition.decided.leader) != NOBODY:
        end = partition.logs[leader].high_watermark
        scene.tell(f"{partition.topic}-{partition.number} is deleted before {end}")
        log_losses.delete_unread(scene.feeding.cluster, partition, end)


async def delete_sealed(scene: Scene) -> None:
    """Retention deletes a part of the range of an object that an intent has just named, and its
    loader is killed: the object may be complete, and nobody has told of it."""
    delay, part = scene.dice.uniform(0.0, 0.1), scene.dice.random()

    def strike(intent: Intent) -> None:
        if (victim := scene.holder_of(intent.transactional_id)) is not None:
            strike_later(scene, delay, partial(delete, intent), victim)

    def delete(intent: Intent, victim: Process) -> None:
        place, sealed = _sealed_by(scene, intent)
        partition = scene.feeding.cluster.partition(*place)
        assert partition is not None
        end = sealed.begin + int(part * (sealed.end - sealed.begin))
        victim.kill()
        if (leader := partition.decided.leader) != NOBODY:
            end = min(end, partition.logs[leader].high_watermark)
            scene.tell(f"kill {victim.name}, {place} is deleted before {end}: {sealed}")
            log_losses.delete_unread(scene.feeding.cluster, partition, end)
        scene.plan_soon()

    assert scene.checks is not None
    scene.checks.armed = strike


def _sealed_by(scene: Scene, intent: Intent) -> tuple[TopicPartition, TableRange]:
    """Returns the partition of an intent, and the first object that it names."""
    assert scene.checks is not None
    place = next(it for it, seen in scene.checks.intents.items() if intent in seen)
    return place, min(intent.blocks.values(), key=lambda each: each.begin)


async def recreate(scene: Scene) -> None:
    recreate_topic(scene, scene.feeding.cluster, scene.dice.choice(scene.places).topic)


LOSSES = (
    Fault("unclean election", unclean_election, 2),
    Fault("delete what is not passed", delete_unread, 2),
    Fault("recreate the topic", recreate, 1),
)

SEALED = Fault("delete a sealed range", delete_sealed, 4)
"""Dealt only where a course names it."""

# -- checks


def of_place(cluster: KafkaCluster, place: TopicPartition) -> list[LostRange]:
    return [it for it in cluster.lost if it.place == tuple(place)]


def intact_to(cluster: KafkaCluster, place: TopicPartition) -> int:
    """Returns the offset up to which the log has, or had, the records that were seen in it."""
    cut = (it for it in of_place(cluster, place) if it.cause is not LossCause.RETENTION)
    return min(map(kept_to, cut), default=EVERYTHING)


def kept_to(lost: LostRange) -> int:
    """Returns the offset below which everything is committed that was committed before a cut.

    Of a transaction whose commit marker is lost the records before the cut are left, and are those
    of an aborted one: a reader who comes to them only now sees none of them.
    """
    begins: dict[int, int] = {}
    ended: set[int] = set()
    undone: list[int] = []
    for batch in lost.log:
        if batch.base_offset < lost.begin:
            if batch.is_marker:
                begins.pop(batch.producer_id, None)
            elif batch.is_transactional:
                begins.setdefault(batch.producer_id, batch.base_offset)
        elif batch.is_marker and batch.producer_id not in ended:
            ended.add(batch.producer_id)
            if batch.is_commit and batch.producer_id in begins:
                undone.append(begins[batch.producer_id])
    return min(undone, default=lost.begin)


def explain(cluster: KafkaCluster, place: TopicPartition, intent: Intent) -> bool:
    """Returns True if an intent is parked for a loss that the log had, and names all of it."""
    loss = intent.parked
    if loss is None or loss.kind not in CAUSE_OF:
        return False
    lost = [it for it in of_place(cluster, place) if it.cause is CAUSE_OF[loss.kind]]
    ends = {it.end for it in lost}
    if loss.kind is LossKind.RETENTION_PASSED:
        return loss.begin < (loss.end or 0) and loss.end in ends
    if loss.kind is LossKind.SOURCE_TRUNCATED:
        # Of two elections before the loader looked, the first one may have had the longer log.
        is_whole = loss.begin in {it.begin for it in lost}
        return is_whole and loss.begin < (loss.end or 0) <= max(ends)
    return loss.begin <= max(ends, default=-1)


def is_of_other_log(cluster: KafkaCluster, place: TopicPartition, intent: Intent) -> bool:
    """Returns True if an intent goes on in the log of another topic of the same name."""
    ends = [it.end for it in of_place(cluster, place) if it.cause is LossCause.RECREATION]
    return bool(ends) and not intent.parked and (intent.position or 0) > ends[0]


def differences(
    feeding: ObjectFeeding,
    checks: StepChecks,
    place: TopicPartition,
    intent: Intent,
    lost: Sequence[LostRange],
) -> list[str]:
    """Returns a text unless a partition that lost records is parked, or has all that its log has
    now."""
    if intent.parked or any(it.cause is LossCause.RECREATION for it in lost):
        # Kafka deletes committed offsets with their topic: there may be no intent to park.
        return []
    settings = feeding.settings
    present = committed_records(_today(feeding.cluster, place))
    undone = undone_records(present, lost)
    log = [(record.offset, settings.wanted(place, record)) for record in present]
    ranges = LogRanges(settings)
    ranges.add(log)
    due: Counter[Any] = Counter()
    allowed: Counter[Any] = Counter()
    for record in (settings.wanted(place, each) for each in undone):
        if record.fate is Destination.OBJECT:
            allowed[record.folder, record.seen] += 1
    for offset, record in log:
        if record.fate is not Destination.OBJECT:
            continue
        has_ended = not settings.by_log or ranges.has_ended(record.folder, offset)
        # Where a record is undone objects may have ended at others than those of today's log.
        if not (undone and settings.by_log):
            due[record.folder, record.seen] += has_ended
        allowed[record.folder, record.seen] += has_ended or bool(undone)
    seen = Counter(
        (each.folder, record)
        for key, each in checks.seen.items()
        if each.place == place and key in feeding.server.objects  # empty ones are not written
        for record in settings.read(feeding.server.objects[key].data)
    )
    missing, others = [*due - seen][:3], [*seen - allowed][:3]
    if not (missing or others):
        return []
    return [f"{place}: not parked (43), missing {missing}, others {others}: {intent}"]


def undone_records(present: Sequence[Record], lost: Sequence[LostRange]) -> list[Record]:
    """Returns the records that are in no transaction that is committed now, and were in one before
    a cut behind them: who read them before may have stored them."""
    cuts = [it for it in lost if it.cause is LossCause.UNCLEAN_ELECTION]
    end = min((it.begin for it in cuts), default=0)
    known = {record.offset for record in present}
    found = {it.offset: it for cut in cuts for it in committed_records(cut.log)}
    return [it for at, it in found.items() if at < end and at not in known]


def _today(cluster: KafkaCluster, place: TopicPartition) -> Sequence[Batch]:
    """Returns the batches that a log has, or had before retention."""
    partition = cluster.partition(*place)
    assert partition is not None
    return partition.logs[partition.decided.leader].everything


def committed_records(batches: Sequence[Batch]) -> list[Record]:
    """Returns the records without those of aborted transactions."""
    ends: dict[int, bool] = {}
    kept = []
    for batch in reversed(batches):
        if batch.is_marker:
            ends[batch.producer_id] = bool(batch.is_commit)
        elif not batch.is_transactional or ends.get(batch.producer_id, False):
            kept.append(batch)
    return [record for batch in reversed(kept) for record in decoded(batch.data)]
