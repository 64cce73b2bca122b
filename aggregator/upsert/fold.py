"""Fold: rows of a tick, reduced by key to the newest, and the ends that follow for other rows.

A key's state is the two newest of the rows that were the newest of a tick. The newest decides
which rows end. The second tells, once a tick's row was merged, which row was the newest before.
Which row wins depends on the set of records alone, not on the ticks in which they came or on their
order within a tick.

The key coordinator does the same on Arrow columns and in Spark's state; this module says what it
has to compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from aggregator.upsert.version import ORDER_MIN, EndKind, RowEnd, Version

KEPT = 2
"""Versions that the state of a key holds."""

KeyState = tuple[Version, ...]
"""The newest versions of a key, the newest first; at most KEPT."""


class KeyRows(NamedTuple):
    """Rows of a key in one tick.

    Args:
        losers: all but the newest, by row id.
    """

    best: Version
    losers: tuple[Version, ...]


class Folded(NamedTuple):
    """Result of a tick.

    Args:
        states: of the keys that had rows in the tick.
        ends: by row id; no row has two of them in a tick.
    """

    states: dict[bytes, KeyState]
    ends: list[RowEnd]


def fold(
    tick: int,
    rows: Iterable[tuple[bytes, Version]],
    states: Mapping[bytes, KeyState],
    since_order: int = ORDER_MIN,
) -> Folded:
    """Returns new states and ends of rows.

    Args:
        tick: number of the tick that all rows are of.
        rows: with the hash of their key, in any order.
        states: as the tick before left them. With any other state the ends are wrong: rows that
            are in the state already would be ended by themselves. Rows before `since_order` may be
            there or not.
        since_order: order before which rows are not seen at the tick, where the order is the time
            (row_facts.order_since). They have no ends, so that the ends are those of a state that
            was read without them. No row of the tick is that old.
    """
    by_key: dict[bytes, list[Version]] = {}
    for key, version in rows:
        by_key.setdefault(key, []).append(version)
    after: dict[bytes, KeyState] = {}
    ends: list[RowEnd] = []
    for key, versions in by_key.items():
        found = reduced(versions)
        after[key] = merged(states.get(key, ()), found.best)
        ends += ends_of(tick, key, found, after[key], since_order)
    ends.sort()
    return Folded(after, ends)


def reduced(versions: Sequence[Version]) -> KeyRows:
    """Returns a key's rows of a tick, of which there is at least one, as the newest and others."""
    best = max(versions)
    losers = sorted(each.row_id for each in versions if each is not best)
    by_id = {each.row_id: each for each in versions}
    return KeyRows(best, tuple(by_id[each] for each in losers))


def merged(state: Iterable[Version], best: Version) -> KeyState:
    """Returns the state of a key after a tick with this newest row."""
    return tuple(sorted((*state, best), reverse=True)[:KEPT])


def bootstrapped(rows: Iterable[tuple[bytes, Version]]) -> dict[bytes, KeyState]:
    """Returns the states of all keys at a tick.

    Args:
        rows: visible rows and deletes at that tick. Older rows than the newest one do no harm; a
            delete that is left out lets late rows revive its key.
    """
    states: dict[bytes, KeyState] = {}
    for key, version in rows:
        states[key] = merged(states.get(key, ()), version)
    return states


def ends_of(
    tick: int, key: bytes, rows: KeyRows, state: KeyState, since_order: int
) -> list[RowEnd]:
    """Returns the ends of a key's rows in a tick: at most one of a row.

    Deletes have no ends: they are never visible.

    Args:
        state: after the tick.
        since_order: see fold.
    """
    best, newest = rows.best, state[0]
    won = EndKind.DELETED if best.is_delete else EndKind.SUPERSEDED
    ends = [_end(each, won, tick, best, key) for each in rows.losers if not each.is_delete]
    if newest != best:
        if not best.is_delete:
            ends.append(_end(best, EndKind.LATE, tick, newest, key))
    elif len(state) > 1 and not state[1].is_delete and state[1].order >= since_order:
        # The old row's end, not that of the new one.
        ends.append(_end(state[1], won, tick, best, key))
    return ends


def _end(row: Version, kind: EndKind, tick: int, by: Version, key: bytes) -> RowEnd:
    return RowEnd(row.row_id, row.lane, row.offset, kind, tick, by.row_id, key)
