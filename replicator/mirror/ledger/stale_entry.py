"""Decision: whether a ledger entry is older than the runs that were published for its partition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.offset_map.run_segment import Run
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
    entry: Entry,
    position: int,
    target_end: int,
    published: PublishedRun | None,
    tail: Iterable[Run] = (),
) -> Loss | None:
    """Returns the range that was mirrored after the position at which to continue, if any.

    Runs are published before an entry passes them. Records that the writer of a HELD entry landed
    since are found in the log and lie before the position. A run after the position was therefore
    published under a later entry (decision 0017). So was one that joins other offsets than the tail
    does, or that left out what the tail goes on with: the later entry knew of a gap in the source,
    and this one does not.

    Args:
        position: source offset to continue at, everything that was found in the log included.
        target_end: end of the target's log. Published runs beyond it were lost by the target
            itself, in an election that dropped them after the entry, and are carried again.
        tail: runs of the records that the writer of a HELD entry landed since, as the entry has it.
    """
    if published is None or published.run.target_end > target_end:
        return None
    last, landed = published.run, list(tail)
    is_behind = published.losses == entry.losses and last.source_end <= position
    # A run that ends before the entry may have been published before it.
    is_later = last.source_end > entry.source_offset
    lacks_gap = _joins_otherwise(landed, last) or (is_later and _overlooks(landed, last))
    is_explained = is_behind and not lacks_gap
    if published.losses < entry.losses or is_explained or entry.custody is Custody.VIRGIN:
        return None
    later = _landed_behind(landed, last) if lacks_gap else 0
    if later:
        # What has landed behind the last run lies behind what was left out there. Otherwise that is
        # read again: replicas compact on their own.
        later += last.left_out
    return Loss(
        LossKind.LEDGER_TURNED_BACK,
        position,
        max(position, last.source_end + later),
        "the runs topic shows these as mirrored, so the committed offsets were restored or "
        "truncated; accept-loss continues after them",
    )


def _joins_otherwise(tail: Iterable[Run], last: LastRun) -> bool:
    """Returns True if the tail joins the last published record with another one of the source."""
    shift = last.target_end - last.source_end
    return any(
        run.target_offset < last.target_end <= run.target_end
        and run.target_offset - run.source_offset != shift
        for run in tail
    )


def _overlooks(tail: Iterable[Run], last: LastRun) -> bool:
    """Returns True if a record of the tail, behind the last published one, would be of a source
    offset that was left out by then."""
    begin = last.source_end + last.left_out
    return any(
        run.source_offset + max(0, last.target_end - run.target_offset) < begin
        for run in tail
        if run.target_end > last.target_end
    )


def _landed_behind(tail: Iterable[Run], last: LastRun) -> int:
    """Returns the number of records of the tail behind the last published one."""
    return sum(max(0, run.target_end - max(run.target_offset, last.target_end)) for run in tail)
