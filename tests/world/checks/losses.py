"""Losses: what the product tells of them, compared with what the world knows was lost.

A partition that lost nothing is exact. One that lost records is exact or parked. If it is parked,
its entry names what was lost, nothing else is missing, and nothing stands twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.entry import Entry
from tests.world.checks import acceptances
from tests.world.checks.ends import (
    all_values,
    changed,
    changed_offsets,
    committed_records,
    committed_values,
)
from tests.world.faults.logs import entries
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.log_losses import LossCause, LostRange
from tests.world.mirror.scene import Scene


@dataclass(frozen=True, slots=True)
class Case:
    """A parked partition.

    Args:
        seen: values in the target, in order.
        gone: values that the target has lost in unclean elections.
    """

    entry: Entry
    loss: Loss
    seen: list[bytes]
    gone: frozenset[bytes]

    def has_carried(self, lost: LostRange, end: int) -> bool:
        """Returns True if the target has what the source had before an offset, and no more.

        A partition that is parked for a loss in the source may have lost records in the target
        as well, which nobody looks for any more.
        """
        found = set(self.seen)
        sent = [value for at, value in committed_records(lost.log) if at < end]
        return self.seen == [it for it in sent if it in found or it not in self.gone]


def differences(scene: Scene) -> list[str]:
    """Returns a text for each partition that is neither exact nor parked for a loss it had."""
    known = entries(scene)
    found = scene.mirroring.outdated()
    for place in scene.places:
        entry = known.get(place)
        if scene.acceptances:
            text = acceptances.difference(scene, place, entry, scene.acceptances)
        else:
            text = _difference(scene, place, entry)
        if text:
            found.append(f"{place.topic}-{place.partition}: {text}")
    return found


def is_wrong_for_good(scene: Scene) -> bool:
    """Returns True if a parked partition differs, which is carried no further, or if records of
    another one are not as they were sent."""
    if scene.acceptances:
        return False
    return any(
        _difference(scene, place, entry) if entry.parked else changed_offsets(scene, place)
        for place, entry in entries(scene).items()
    )


def _difference(scene: Scene, place: TopicPartition, entry: Entry | None) -> str | None:
    source, target = scene.clusters
    seen = all_values(target, place)
    if entry is None:
        # Deleted with the topic, and nobody was there to write it again: carriers stop at that.
        if place in target.expired_commits:
            return _unlike(committed_values(source, place), seen)
        is_deleted = any(it.cause is LossCause.RECREATION for it in _of(target, place))
        return None if is_deleted and not seen else "no entry"
    if entry.parked is None:
        sent = committed_values(source, place)
        differing = f"not parked, {len(sent)} sent, {len(seen)} seen"
        return changed(scene, place) if sent == seen else differing
    loss = entry.parked
    if loss.kind is LossKind.LEDGER_TURNED_BACK and place in target.restored_commits:
        return _unlike(committed_values(source, place), seen)
    if loss.kind in TOLD:
        return TOLD[loss.kind](scene, place, entry)
    ranges = _of(source if loss.kind.at_source else target, place)
    case = Case(entry, loss, seen, _gone(target, place))
    explains = EXPLAINS.get(loss.kind)
    if explains is None or not any(explains(case, it) for it in ranges):
        told = [f"{it.cause} [{it.begin}, {it.end})" for it in ranges]
        return f"parked for {loss}, and lost were {told}; {len(seen)} are in the target"
    if len(set(seen)) < len(seen):
        return f"parked for {loss}, and {len(seen) - len(set(seen))} records stand twice"
    # The checks of losses in the source have compared everything already.
    return None if loss.kind.at_source else _missing(source, place, case)


def _unlike(sent: list[bytes], seen: list[bytes]) -> str | None:
    """Returns a text unless the target has the first records of the source, each once."""
    is_like = seen == sent[: len(seen)]
    return None if is_like else f"not the first records: {len(sent)} sent, {len(seen)} seen"


def _forgotten(scene: Scene, place: TopicPartition, entry: Entry) -> str | None:
    """Returns a text unless the entry's id has expired, and all before the entry is there once."""
    source, target = scene.clusters
    assert entry.parked is not None
    if entry.transactional_id not in target.forgotten_ids:
        return f"parked for {entry.parked}, and {entry.transactional_id} never expired"
    case = Case(entry, entry.parked, all_values(target, place), _gone(target, place))
    if len(set(case.seen)) < len(case.seen):
        return f"parked for {entry.parked}, and records stand twice"
    return _missing(source, place, case)


def _overtaken(scene: Scene, place: TopicPartition, entry: Entry) -> str | None:
    """Returns a text unless what the target has left out, and nothing else, is named."""
    sent = committed_records(_log(scene.mirroring.source, place))
    seen = all_values(scene.mirroring.target, place)
    known = set(seen)
    carried = [value for _, value in sent if value in known]
    last = max((at for at, (_, value) in enumerate(sent) if value in known), default=0)
    left_out = [offset for offset, value in sent[:last] if value not in known]
    named = (left_out[0], left_out[-1] + 1) if left_out else None
    loss = entry.parked
    if loss and seen == carried and named == (loss.begin, loss.end):
        return None
    return f"parked for {loss}, and left out were {named}; {len(seen)} are in the target"


def _stamped(scene: Scene, place: TopicPartition, entry: Entry) -> str | None:
    """Returns a text unless all records that have other times now are named."""
    loss, times = entry.parked, changed_offsets(scene, place)
    assert loss is not None and loss.end is not None
    # Batches that may have landed are counted in, and may have kept their times.
    if not times or loss.begin != times[0] or loss.end <= times[-1]:
        return f"parked for {loss}, and {times} have other times"
    sent = committed_values(scene.mirroring.source, place)
    return _unlike(sent, all_values(scene.mirroring.target, place))


def _log(cluster: KafkaCluster, place: TopicPartition) -> list[Batch]:
    partition = cluster.partition(*place)
    assert partition is not None
    return partition.logs[partition.decided.leader].everything


def _of(cluster: KafkaCluster, place: TopicPartition) -> list[LostRange]:
    return [it for it in cluster.lost if it.place == tuple(place)]


def _gone(target: KafkaCluster, place: TopicPartition) -> frozenset[bytes]:
    return frozenset(
        value
        for lost in _of(target, place)
        if lost.cause is not LossCause.RETENTION
        for at, value in committed_records(lost.log)
        if at >= lost.begin
    )


def _missing(source: KafkaCluster, place: TopicPartition, case: Case) -> str | None:
    """Returns a text if the target lacks a record before the entry that it did not lose."""
    logs = [_log(source, place)]
    logs += [list(it.log) for it in _of(source, place)]
    found = set(case.seen)
    # The log that was read is one of these: the source may have lost something later on.
    lacking = min(
        (
            [
                value
                for at, value in committed_records(log)
                if at < case.entry.source_offset and value not in case.gone | found
            ]
            for log in logs
        ),
        key=len,
    )
    return f"parked for {case.loss}, and {lacking[:3]} are missing too" if lacking else None


# -- by kind: does a range that was lost explain the loss that is told?


def _truncated(case: Case, lost: LostRange) -> bool:
    """Everything before the position was carried, as it stood before the election."""
    loss = case.loss
    return (
        lost.cause is LossCause.UNCLEAN_ELECTION
        and loss.end is not None
        and loss.begin == lost.begin < loss.end <= lost.end
        and case.has_carried(lost, loss.end)
    )


def _passed(case: Case, lost: LostRange) -> bool:
    loss = case.loss
    return (
        lost.cause is LossCause.RETENTION
        and loss.end is not None
        and loss.begin < loss.end == lost.end
        and case.has_carried(lost, loss.begin)
    )


def _recreated(case: Case, lost: LostRange) -> bool:
    return (
        lost.cause is LossCause.RECREATION
        and case.loss.begin <= lost.end
        and case.has_carried(lost, case.loss.begin)
    )


def _went_back(case: Case, lost: LostRange) -> bool:
    """Everything before the position was carried, as it stood before the restoration."""
    loss = case.loss
    position = loss.begin if loss.end is None else loss.end
    return (
        lost.cause is LossCause.RESTORATION
        and lost.begin <= loss.begin <= position <= lost.end
        and case.has_carried(lost, position)
    )


def _target_truncated(case: Case, lost: LostRange) -> bool:
    """Every record that is gone before the acknowledged end lies in the range that is named."""
    loss = case.loss
    return (
        lost.cause is LossCause.UNCLEAN_ELECTION
        and loss.end is not None
        and loss.begin <= lost.begin < loss.end <= lost.end
    )


def _target_recreated(case: Case, lost: LostRange) -> bool:
    loss = case.loss
    return (
        lost.cause is LossCause.RECREATION
        and loss.end is not None
        and loss.begin == 0
        and loss.end <= lost.end
        and not case.seen
    )


def _tail_deleted(case: Case, lost: LostRange) -> bool:
    loss = case.loss
    return (
        lost.cause is LossCause.RETENTION
        and loss.end is not None
        and loss.begin == case.entry.target_offset
        and loss.begin < loss.end <= lost.end
    )


TOLD: dict[LossKind, Callable[[Scene, TopicPartition, Entry], str | None]] = {
    LossKind.WRITER_FORGOTTEN: _forgotten,
    LossKind.BATCH_MISSING: _overtaken,
    LossKind.TIMES_CHANGED: _stamped,
}
"""Checks of losses that are no ranges of a log."""

EXPLAINS: dict[LossKind, Callable[[Case, LostRange], bool]] = {
    LossKind.SOURCE_TRUNCATED: _truncated,
    LossKind.RETENTION_PASSED: _passed,
    LossKind.SOURCE_WENT_BACK: _went_back,
    LossKind.SOURCE_RECREATED: _recreated,
    LossKind.TARGET_TRUNCATED: _target_truncated,
    LossKind.TARGET_TAIL_DELETED: _tail_deleted,
    LossKind.TARGET_RECREATED: _target_recreated,
}
