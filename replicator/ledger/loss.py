"""Records that cannot be carried any more, or are gone at the target: what is lost, and where.

A loss stops its partition and waits for the operator's word; it is never copied over in silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LossKind(StrEnum):
    """What happened, in the words an operator reads."""

    RETENTION_PASSED = "source retention passed the reader"
    SOURCE_TRUNCATED = "source log was truncated"
    SOURCE_DELETED = "source topic was deleted"
    SOURCE_RECREATED = "source topic was deleted and created again"
    SOURCE_WENT_BACK = "source went back to older leader epochs"
    SOURCE_CORRUPT = "source batch cannot be read"
    RECORD_TOO_LARGE = "record is larger than the target takes"
    TARGET_TRUNCATED = "target lost acknowledged records"
    TARGET_DELETED = "target topic was deleted"
    TARGET_RECREATED = "target topic was deleted and created again"
    TARGET_TAIL_DELETED = "target deleted the tail a takeover must read"
    BATCH_MISSING = "target holds later records of the writer and not these"
    RECORDS_REFUSED = "target refuses the records"
    TARGET_REFUSES = "target refuses the batch"
    """Of versions before 0019: the range has records that the target takes, so that, accepted, it
    is tried once more."""
    TIMES_CHANGED = "target gave the records other timestamps"
    ENTRY_UNREADABLE = "ledger entry cannot be read"
    LEDGER_TURNED_BACK = "ledger entry is older than what was mirrored"
    WRITER_FORGOTTEN = "target forgot the writer before it was fenced"

    @property
    def at_source(self) -> bool:
        """True if its offsets are the source's."""
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
class Loss:
    """Offsets begin..end-1, of the source or the target as the kind says, are lost or in doubt.

    Args:
        end: None when only its begin is known.
        detail: what else an operator should hear, such as the broker's error.
    """

    kind: LossKind
    begin: int
    end: int | None
    detail: str = ""

    def __str__(self) -> str:
        side = "source" if self.kind.at_source else "target"
        end = "?" if self.end is None else str(self.end)
        text = f"{self.kind.value}: {side} offsets [{self.begin}, {end})"
        return f"{text}: {self.detail}" if self.detail else text


@dataclass(frozen=True, slots=True, kw_only=True)
class LogView:
    """What a cluster says of one partition today.

    Args:
        topic_id_differs: the topic under this name is another one than the entry knows.
        start, end: of the log.
        epoch_end: at the source, where the leader epoch of the last batch read ends today;
            -1 when not known.
        mark_holds: at the target, whether the mark's record is still in its place; None when
            retention or compaction took the evidence.
    """

    topic_id_differs: bool = False
    start: int
    end: int
    epoch_end: int = -1
    mark_holds: bool | None = None


def source_loss(position: int, view: LogView) -> Loss | None:
    """What stands between a position and the source's log, if anything.

    Args:
        position: the next source offset to carry.
    """
    if view.topic_id_differs:
        return Loss(LossKind.SOURCE_RECREATED, position, None, f"the new log is {_log(view)}")
    if position < view.start:
        return Loss(LossKind.RETENTION_PASSED, position, view.start)
    # Both may hold: cut back to where the epoch ended, and written anew but not yet as far.
    cut = view.end if view.epoch_end < 0 else min(view.end, view.epoch_end)
    if position > cut:
        anew = "and written anew" if cut < view.end else ""
        return Loss(LossKind.SOURCE_TRUNCATED, cut, position, anew)
    return None


def went_back(position: int, end: int, epochs: tuple[int, int]) -> Loss:
    """The loss at a source that was restored together with its metadata.

    Args:
        position: the next source offset to carry.
        end: of the source's log today.
        epochs: the newest leader epoch before, and the one of today.
    """
    begin = min(position, end)
    detail = (
        f"leader epoch {epochs[1]} after {epochs[0]}: the cluster was restored with its metadata; "
        "what it wrote again at lower offsets is not mirrored unless rewound (sluice stream "
        "rewind-topic)"
    )
    return Loss(LossKind.SOURCE_WENT_BACK, begin, position if begin < position else None, detail)


def target_loss(target_offset: int, view: LogView) -> Loss | None:
    """What the target no longer holds of that which was acknowledged.

    Args:
        target_offset: the ledger's d: all before it was there.
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
