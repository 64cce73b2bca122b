"""Decision: whether a ledger entry is older than the runs that were published for its partition."""

from __future__ import annotations

from dataclasses import dataclass

from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.offset_map.runs_tail import LastRun


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """The last run published for a partition, under the highest number of losses.

    Args:
        losses: how many losses an operator had accepted when the run was published.
    """

    run: LastRun
    losses: int


def turned_back(
    entry: Entry, position: int, target_end: int, published: PublishedRun | None
) -> Loss | None:
    """Returns the range that was mirrored after the position at which to continue, if any.

    Runs are published before an entry passes them. Records that the writer of a HELD entry landed
    since are found in the log and lie before the position. A run after the position was therefore
    published under a later entry (decision 0017).

    Args:
        position: source offset to continue at, everything that was found in the log included.
        target_end: end of the target's log. Published runs beyond it were lost by the target
            itself, in an election that dropped them after the entry, and are carried again.
    """
    if published is None or published.run.target_end > target_end:
        return None
    is_behind = published.losses == entry.losses and published.run.source_end <= position
    if published.losses < entry.losses or is_behind or entry.custody is Custody.VIRGIN:
        return None
    return Loss(
        LossKind.LEDGER_TURNED_BACK,
        position,
        max(position, published.run.source_end),
        "the runs topic shows these as mirrored, so the committed offsets were restored or "
        "truncated; accept-loss continues after them",
    )
