"""Key histories: which rows of an upsert table ended, when and by which row. Pure.

The newest row of a key at a tick is the largest of all its rows up to that tick, whatever the order
in which they came. The ends follow from that alone, so that they are found here row by row, by
another way than the coordinator's, which folds ticks into a state.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from aggregator.upsert.tick import OPEN, tick_of
from aggregator.upsert.version import ORDER_MIN, EndKind, RowEnd, Version

Keyed = tuple[bytes, Version]
"""Hash of a key, and a row of it."""


def expected_ends(
    rows: Iterable[Keyed],
    before: Mapping[bytes, Version],
    since_order: Callable[[int], int] = lambda tick: ORDER_MIN,
) -> Iterator[RowEnd]:
    """Yields the ends that the ticks of some rows bring.

    Args:
        rows: all rows of these ticks.
        before: the newest row of each key before these ticks, deletes included.
        since_order: returns the order before which rows of earlier ticks have no end at a tick, as
            their day is over (decision 0114).
    """
    by_key: defaultdict[bytes, list[Version]] = defaultdict(list)
    for key, version in rows:
        by_key[key].append(version)
    for key, versions in by_key.items():
        newest = before.get(key)
        versions.sort(key=lambda each: each.row_id)
        for tick, some in groupby(versions, key=lambda each: tick_of(each.row_id)):
            of_tick = list(some)
            best = max(of_tick)
            ended = [(each, best) for each in of_tick if each != best]
            if newest is not None and newest > best:
                ended.append((best, newest))
            elif newest is not None and newest.order >= since_order(tick):
                ended.append((newest, best))
            for row, by in ended:
                if not row.is_delete:
                    kind = EndKind.DELETED if by.is_delete else EndKind.SUPERSEDED
                    is_late = row == best
                    yield RowEnd(
                        row.row_id,
                        row.lane,
                        row.offset,
                        EndKind.LATE if is_late else kind,
                        tick,
                        by.row_id,
                        key,
                    )
            newest = max(best, newest or best)


@dataclass(slots=True)
class EndDifference:
    """Ends that differ, by the id of the row that ended."""

    missing: list[int] = field(default_factory=list)
    surplus: list[int] = field(default_factory=list)
    doubled: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    maybe_repeated: list[int] = field(default_factory=list)
    """Ends that are there twice in a table without a memory of blocks: the only one of its tick,
    which was done again perhaps."""


def compared_ends(
    expected: Iterable[RowEnd], found: Mapping[RowEnd, int], *, has_memory: bool
) -> EndDifference:
    """Compares ends with those of a table.

    Args:
        found: with the number of rows that the table has of each, before it merges.
        has_memory: the table drops a block that it has. In one without, a tick that was done again
            has each end as often as the others, which readers count once.
    """
    wanted = {each.row_id: each for each in expected}
    result = EndDifference()
    counts = Counter[int]()
    for each in found:
        counts[each.row_id] += 1
        one = wanted.get(each.row_id)
        if one is None or one.tick != each.tick:
            result.surplus.append(each.row_id)
        elif one != each:
            result.changed.append(each.row_id)
    there = {(each.row_id, each.tick) for each in found}
    result.missing = [
        each.row_id for each in wanted.values() if (each.row_id, each.tick) not in there
    ]
    by_tick: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for each, count in found.items():
        by_tick[each.tick].append((each.row_id, count))
    for some in by_tick.values():
        is_uniform = len({count for _, count in some}) == 1
        twice = [row_id for row_id, count in some if count > 1]
        if has_memory or not is_uniform:
            result.doubled += twice
        elif len(some) == 1:
            result.maybe_repeated += twice
    return result


class Until(NamedTuple):
    """Row's _until as a table has it.

    Args:
        until: value of the column.
        ended: tick of the row's end; None: it has none.
    """

    row_id: int
    until: int
    is_delete: bool
    ended: int | None


def wrong_untils(rows: Iterable[Until], points: Sequence[int], last: int) -> Iterator[int]:
    """Yields the ids of rows whose _until differs from what settling makes of their ends.

    Args:
        points: settle points of the server, ascending.
        last: tick up to which ends are known. Later ones may have been settled since.
    """
    for row_id, until, is_delete, ended in rows:
        if is_delete:
            is_right = until == tick_of(row_id)
        elif ended is None:
            is_right = last < until <= OPEN
        else:
            # Settling may have come to this server, and its point not have been published yet.
            place = bisect_left(points, ended)
            settled = points[place] if place < len(points) else OPEN
            is_right = ended <= until <= settled
        if not is_right:
            yield row_id
