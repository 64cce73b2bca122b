"""Where a partition goes on once an operator has accepted what it lost."""

from __future__ import annotations

from dataclasses import replace

from replicator.ledger.loss import Loss, LossKind

STEPPED_OVER = (
    LossKind.SOURCE_CORRUPT,
    LossKind.RECORD_TOO_LARGE,
    LossKind.RECORDS_REFUSED,
    LossKind.LEDGER_TURNED_BACK,
)
"""Accepted, these offsets are left out and the reading goes on behind them."""

CUT_BACK = (LossKind.SOURCE_TRUNCATED, LossKind.SOURCE_WENT_BACK)
"""Accepted, the reading goes on where the source's log ended."""


def goes_on_at(position: int, log_start: int, parked: Loss | None, found: Loss | None) -> int:
    """The source offset to carry next; without losses, the position.

    Args:
        position: the next source offset by the ledger.
        log_start: of the source today.
        parked: what the partition was parked for.
        found: what the source is seen to miss now.
    """
    if parked and parked.kind in STEPPED_OVER and parked.end is not None:
        position = max(position, parked.end)
    if parked and parked.kind in CUT_BACK:
        # By today the log may have grown past the position again, and nothing be missed any more.
        position = max(log_start, min(parked.begin, position))
    if found is None or found.kind is LossKind.SOURCE_DELETED:
        return position
    if found.kind is LossKind.SOURCE_RECREATED:
        return log_start
    if found.kind is LossKind.SOURCE_TRUNCATED:
        # Records written anew behind the cut were never carried.
        return max(log_start, min(found.begin, position))
    return max(position, log_start)


def is_endless(parked: Loss | None) -> bool:
    """True if only an operator can say behind which offset the source can be read again."""
    return bool(parked and parked.kind is LossKind.SOURCE_CORRUPT and parked.end is None)


def can_restart_at(parked: Loss | None, restart_at: int, log_end: int) -> bool:
    """Whether an operator can mean this source offset: within a range that would be stepped over,
    or behind an offset that cannot be read. For other losses none is asked for, and all are fine.

    Args:
        log_end: of the source.
    """
    if parked is None or parked.kind not in STEPPED_OVER:
        return True
    if parked.end is None:
        return parked.begin < restart_at <= log_end
    return parked.begin <= restart_at <= parked.end


def ended(parked: Loss | None, restart_at: int | None) -> Loss | None:
    """The part of a loss before the offset at which an operator goes on; None if that is nothing.

    The whole loss where no offset is given, or none can be.
    """
    if parked is None or restart_at is None or parked.kind not in STEPPED_OVER:
        return parked
    if restart_at <= parked.begin:
        return None
    return replace(parked, end=min(restart_at, parked.end or restart_at))


def named_once(*losses: Loss | None) -> tuple[Loss, ...]:
    """What a partition was parked for is often found once more while it is taken."""
    return tuple(dict.fromkeys(loss for loss in losses if loss))
