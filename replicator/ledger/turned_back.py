"""Decision: whether a ledger entry is older than what was mirrored, by the runs told behind it."""

from __future__ import annotations

from dataclasses import dataclass

from replicator.ledger.entry import Custody, Entry
from replicator.ledger.loss import Loss, LossKind
from replicator.offsets.runs_tail import LastRun


@dataclass(frozen=True, slots=True)
class Told:
    """The last run told of a partition under the most losses.

    Args:
        losses: how many losses an operator had accepted when it was told.
    """

    run: LastRun
    losses: int


def turned_back(entry: Entry, position: int, target_end: int, told: Told | None) -> Loss | None:
    """Returns what was mirrored behind the position where the entry has a taker go on.

    Runs are told before an entry passes them. What the writer of a HELD entry landed since is
    found in the log and lies before the position; behind it only a later entry can have led.

    Args:
        position: the source offset to go on at, with all that was found in the log.
        target_end: of the target's log. Told runs beyond it were lost by the target itself, in an
            election that dropped them behind the entry, and are carried again.
    """
    if told is None or told.run.target_end > target_end:
        return None
    is_behind = told.losses == entry.losses and told.run.source_end <= position
    if told.losses < entry.losses or is_behind or entry.custody is Custody.VIRGIN:
        return None
    return Loss(
        LossKind.LEDGER_TURNED_BACK,
        position,
        max(position, told.run.source_end),
        "the runs topic says that these are mirrored; the committed offsets were restored or cut; "
        "accept-loss goes on behind them",
    )
