"""Runs as three columns of numbers, and the merge of runs in any order into few that ascend."""

import numpy as np

from replicator.mirror.offset_map.run_segment import Run
from replicator.mirror.offset_map.spans import Offsets

Columns = tuple[Offsets, Offsets, Offsets]
"""Source offsets, target offsets, counts."""


class RunsContradict(Exception):
    """Two runs cannot both be true. Find out which end lost data: that loss is not accepted yet."""

    def __init__(self, known: Run, other: Run) -> None:
        super().__init__(f"{_named(known)}, but {_named(other)}")


def merged(sources: Offsets, targets: Offsets, counts: Offsets) -> Columns:
    """Returns the same records in the fewest runs, ascending; raises RunsContradict."""
    order = np.argsort(sources, kind="stable")
    sources, targets, counts = sources[order], targets[order], counts[order]
    if not len(counts):
        return sources, targets, counts
    shifts = targets - sources
    reach = np.maximum.accumulate(sources + counts)
    same = shifts[1:] == shifts[:-1]
    _refuse(np.flatnonzero((sources[1:] < reach[:-1]) & ~same), sources, targets, counts)
    opens = np.concatenate([[True], ~((sources[1:] <= reach[:-1]) & same)])
    closes = np.concatenate([opens[1:], [True]])
    sources, targets = sources[opens], targets[opens]
    counts = reach[closes] - sources
    _refuse(np.flatnonzero(targets[1:] < (targets + counts)[:-1]), sources, targets, counts)
    return sources, targets, counts


def _refuse(at: Offsets, sources: Offsets, targets: Offsets, counts: Offsets) -> None:
    if len(at):
        first, second = (
            Run(int(sources[i]), int(targets[i]), int(counts[i])) for i in (at[0], at[0] + 1)
        )
        raise RunsContradict(first, second)


def _named(run: Run) -> str:
    return (
        f"source offsets {run.source_offset}..{run.source_end - 1} landed at "
        f"{run.target_offset}..{run.target_end - 1}"
    )
