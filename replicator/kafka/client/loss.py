"""Losses: records that can no longer be carried, or that the target no longer holds.

A loss stops its partition until an operator accepts it; it is never passed over silently.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum

from replicator.kafka.protocol.error_codes import BY_CONFIGS, named


class LossKind(StrEnum):
    """Kind of loss; the values are the texts that operators read."""

    RETENTION_PASSED = "source retention passed the reader"
    SOURCE_TRUNCATED = "source log was truncated"
    SOURCE_DELETED = "source topic was deleted"
    SOURCE_RECREATED = "source topic was recreated"
    SOURCE_WENT_BACK = "source went back to older leader epochs"
    SOURCE_CORRUPT = "source batch cannot be read"
    RECORD_TOO_LARGE = "record is larger than the target takes"
    TARGET_TRUNCATED = "target lost acknowledged records"
    TARGET_DELETED = "target topic was deleted"
    TARGET_RECREATED = "target topic was recreated"
    TARGET_TAIL_DELETED = "target deleted the tail a takeover must read"
    BATCH_MISSING = "target holds later records of the writer and not these"
    RECORDS_REFUSED = "target refuses the records"
    TARGET_REFUSES = "target refuses the batch"
    """Written by versions before decision 0019. The range includes records that the target takes,
    so it is tried once more after its acceptance."""
    TIMES_CHANGED = "target gave the records other timestamps"
    BLOCK_DOUBTFUL = "nobody can tell whether a block is stored"
    """Loss of a feed: the table has no columns that identify rows, and its window passed."""
    OBJECT_TAKEN = "the name of an object is taken by another content"
    """Loss of a feed into objects: nothing is overwritten."""
    OBJECT_SETTINGS = "an object was sealed under other settings"
    LETTER_REFUSED = "the dead letter of a record is refused"
    """Loss of a feed: the topic of dead letters does not take it, however it is cut."""
    INTENT_GONE = "its intent is gone, and nobody knows what is loaded"
    """Loss of a feed: its committed offset expired or was deleted, while rows may be stored."""
    LOADER_FAILED = "a loader fails at the records"
    """Loss of a feed: an error that nobody foresaw. The end is not known."""
    ENTRY_UNREADABLE = "ledger entry cannot be read"
    LEDGER_TURNED_BACK = "ledger entry is older than what was mirrored"
    WRITER_FORGOTTEN = "target forgot the writer before it was fenced"

    @property
    def at_source(self) -> bool:
        """True when the offsets are the source's."""
        return self not in _AT_TARGET


_AT_TARGET = frozenset(
    {
        LossKind.TARGET_TRUNCATED,
        LossKind.TARGET_DELETED,
        LossKind.TARGET_RECREATED,
        LossKind.TARGET_TAIL_DELETED,
        LossKind.WRITER_FORGOTTEN,
    }
)


@dataclass(frozen=True, slots=True)
class NeededLimit:
    """Limit of a batch that the target must have before it takes a record.

    Args:
        size_bytes: of the record as a batch of its own.
        refused_bytes: limit that the topic showed when a broker refused the record all the same;
            0: it was not sent. The limit was lowered since, or that broker's own is lower.
    """

    size_bytes: int
    refused_bytes: int = 0

    @property
    def least_bytes(self) -> int:
        """The least limit, set on the topic, that counts on every broker and takes the record."""
        return max(self.size_bytes, self.refused_bytes + 1)


@dataclass(frozen=True, slots=True)
class Loss:
    """Lost or doubtful offsets begin..end-1, of the source or the target as the kind says.

    Args:
        end: None when only the begin is known.
        detail: further information for operators, such as the broker's error.
        needs: limit of a batch under which the target takes the first record; None where no limit
            is in the way.
    """

    kind: LossKind
    begin: int
    end: int | None
    detail: str = ""
    needs: NeededLimit | None = field(default=None, compare=False)

    def __str__(self) -> str:
        side = "source" if self.kind.at_source else "target"
        end = "?" if self.end is None else str(self.end)
        text = f"{self.kind.value}: {side} offsets [{self.begin}, {end})"
        return f"{text}: {self.detail}" if self.detail else text


def is_over(loss: Loss, refusing: Collection[str]) -> bool:
    """Returns True for records that a config of the target's topic refused, and refuses no more.

    Args:
        refusing: names of the errors by which the topic's configs of today refuse records.
    """
    name = loss.detail.partition(":")[0]
    is_by_config = name in {named(code) for code in BY_CONFIGS}
    return loss.kind is LossKind.RECORDS_REFUSED and is_by_config and name not in refusing


@dataclass(frozen=True, slots=True, kw_only=True)
class LogView:
    """State of one partition's log in a cluster today.

    Args:
        topic_id_differs: the topic under this name is not the one that the entry names.
        start, end: of the log.
        epoch_end: at the source, the end offset of the leader epoch of the last batch read; -1
            when not known.
        mark_holds: at the target, True when the mark's record is still at its offset; None when
            retention or compaction removed the evidence.
    """

    topic_id_differs: bool = False
    start: int
    end: int
    epoch_end: int = -1
    mark_holds: bool | None = None


def source_loss(position: int, view: LogView, sealed_end: int = 0) -> Loss | None:
    """Returns the loss between a position and the source's log, if there is one.

    Args:
        position: the next source offset to carry.
        sealed_end: end of what was carried out of order, behind the position.
    """
    if view.topic_id_differs:
        return Loss(LossKind.SOURCE_RECREATED, position, None, f"the new log is {_log(view)}")
    # Both can hold: the log was cut where the epoch ended, and has not grown as far again.
    cut = view.end if view.epoch_end < 0 else min(view.end, view.epoch_end)
    if position < view.start and sealed_end <= cut:
        return Loss(LossKind.RETENTION_PASSED, position, view.start)
    if (end := max(position, sealed_end)) > cut:
        anew = "and written anew" if cut < view.end else ""
        return Loss(LossKind.SOURCE_TRUNCATED, cut, end, anew)
    return None


def went_back(position: int, end: int, epochs: tuple[int, int]) -> Loss:
    """Returns the loss at a source that was restored together with its metadata.

    Args:
        position: the next source offset to carry.
        end: end offset of the source's log today.
        epochs: the newest leader epoch seen before, and today's.
    """
    begin = min(position, end)
    detail = (
        f"leader epoch {epochs[1]} after {epochs[0]}: the cluster was restored with its metadata; "
        "what it wrote again at lower offsets is not mirrored unless rewound (sluice stream "
        "rewind-topic)"
    )
    return Loss(LossKind.SOURCE_WENT_BACK, begin, position if begin < position else None, detail)


def target_loss(target_offset: int, view: LogView) -> Loss | None:
    """Returns the loss of acknowledged records at the target, if there is one.

    Args:
        target_offset: of the ledger entry: everything before it was in the log.
    """
    if view.topic_id_differs:
        return Loss(LossKind.TARGET_RECREATED, 0, target_offset, f"the new log is {_log(view)}")
    if view.end < target_offset:
        return Loss(LossKind.TARGET_TRUNCATED, view.end, target_offset)
    if view.mark_holds is False:
        return Loss(
            LossKind.TARGET_TRUNCATED,
            view.start,
            target_offset,
            "the log was truncated and regrown",
        )
    return None


def _log(view: LogView) -> str:
    return f"[{view.start}, {view.end})"
