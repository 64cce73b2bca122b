"""Restart position of a partition whose losses an operator has accepted."""

from __future__ import annotations

from dataclasses import replace

from replicator.kafka.client.loss import Loss, LossKind

STEPPED_OVER = (
    LossKind.SOURCE_CORRUPT,
    LossKind.RECORD_TOO_LARGE,
    LossKind.RECORDS_REFUSED,
    LossKind.LEDGER_TURNED_BACK,
)
"""Losses whose range is skipped once they are accepted: reading continues after it."""

CUT_BACK = (LossKind.SOURCE_TRUNCATED, LossKind.SOURCE_WENT_BACK)
"""Losses that, once accepted, make reading continue where the source's log ended."""


def goes_on_at(position: int, log_start: int, parked: Loss | None, found: Loss | None) -> int:
    """Returns the source offset to carry next; without losses this is the position.

    Args:
        position: the next source offset by the ledger.
        log_start: start offset of the source's log today.
        parked: the loss that the partition was parked for.
        found: the loss that an inspection of the source finds now.
    """
    if parked and parked.kind in STEPPED_OVER and parked.end is not None:
        position = max(position, parked.end)
    if parked and parked.kind in CUT_BACK:
        # The log may have grown past the position since, so that `found` shows no loss.
        position = max(log_start, min(parked.begin, position))
    if found is None or found.kind is LossKind.SOURCE_DELETED:
        return position
    if found.kind is LossKind.SOURCE_RECREATED:
        return log_start
    if found.kind is LossKind.SOURCE_TRUNCATED:
        # Records written again after the cut were never carried.
        return max(log_start, min(found.begin, position))
    return max(position, log_start)


def is_endless(parked: Loss | None) -> bool:
    """Returns True when only an operator can say after which offset the source is readable."""
    return bool(parked and parked.kind is LossKind.SOURCE_CORRUPT and parked.end is None)


def takes_restart(parked: Loss) -> bool:
    """Returns True when an operator may choose where to continue after a loss of this kind.

    After every other kind the position follows from the logs.
    """
    return parked.kind in STEPPED_OVER


def can_restart_at(parked: Loss, restart_at: int, log_end: int) -> bool:
    """Returns True when an operator may choose this source offset to continue at.

    For a loss that is skipped, the offset must lie within the range, or after its begin when the
    end is not known. No other loss takes an offset.

    Args:
        log_end: end offset of the source's log.
    """
    if not takes_restart(parked):
        return False
    if parked.end is None:
        return parked.begin < restart_at <= log_end
    return parked.begin <= restart_at <= parked.end


def ended(parked: Loss | None, restart_at: int | None) -> Loss | None:
    """Returns the part of a loss below an operator's restart offset; None if that part is empty.

    Returns the whole loss when no offset is given, or when its kind takes none.
    """
    if parked is None or restart_at is None or not takes_restart(parked):
        return parked
    if restart_at <= parked.begin:
        return None
    return replace(parked, end=min(restart_at, parked.end or restart_at))


def named_once(*losses: Loss | None) -> tuple[Loss, ...]:
    """Returns the losses without duplicates and without None.

    The loss that parked a partition is often found again while the partition is acquired.
    """
    return tuple(dict.fromkeys(loss for loss in losses if loss))
