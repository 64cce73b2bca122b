"""Where a partition goes on once an operator has accepted what it lost."""

from __future__ import annotations

from replicator.ledger.loss import Loss, LossKind

STEPPED_OVER = (LossKind.SOURCE_CORRUPT, LossKind.RECORD_TOO_LARGE)
"""Accepted, these offsets are left out and the reading goes on behind them."""


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
    if parked and parked.kind is LossKind.SOURCE_TRUNCATED:
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


def named_once(*losses: Loss | None) -> tuple[Loss, ...]:
    """What a partition was parked for is often found once more while it is taken."""
    return tuple(dict.fromkeys(loss for loss in losses if loss))
