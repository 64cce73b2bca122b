"""Sightings of a source partition's ends: they tell since when a record has waited.

Carriers look at the ends about once a second and keep the sightings in the ledger entry. So the
next carrier knows since when records have waited, whichever carrier had the partition before. Pure
values; decision 0021 has the definition.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

INTERVAL_MS = 1000
"""Interval between two looks of a carrier. A record that came between them may have come right
after the first one; within one interval the later look counts."""
FRESH_MS = 15_000
"""Maximum age of a sighting that says something about the present."""
PACKED_BYTES_MAX = 140
"""Limit of the packed numbers in an entry's metadata."""
PACKED_FROM_MAX = 20
_NUMBERS = 4
_END = attrgetter("end")


class Sighting(NamedTuple):
    """The same ends, seen from one time to another.

    Args:
        first_ms, last_ms: Unix time in milliseconds.
        stable: last stable offset, where reading committed records ends.
        high: high watermark.
    """

    first_ms: int
    last_ms: int
    stable: int
    high: int


class Ends(NamedTuple):
    """Ends of one kind, taken from a sighting."""

    first_ms: int
    last_ms: int
    end: int


Sightings = tuple[Sighting, ...]


def stable_ends(sightings: Iterable[Sighting]) -> list[Ends]:
    """Returns the ends of the records that may be read: the last stable offsets."""
    return [Ends(each.first_ms, each.last_ms, each.stable) for each in sightings]


def high_ends(sightings: Iterable[Sighting]) -> list[Ends]:
    """Returns the ends of all records, those of open transactions included."""
    return [Ends(each.first_ms, each.last_ms, each.high) for each in sightings]


def arrived_ms(
    ends: Sequence[Ends], offset: int, now_ms: int, written_ms: int | None = None
) -> int:
    """Returns the Unix time in milliseconds at which the record at an offset came below the end.

    The time lies between the last look that did not see the record and the first look that did. The
    record's own timestamp decides within these bounds. Outside of them its producer's clock is
    wrong, or the producer dates records back. Without a usable timestamp, a record counts as
    arrived one interval after the last look without it, or at the first look with it if that is
    earlier. There was no look before the first sighting: a record below that sighting's end has
    waited since then.

    Args:
        ends: ascending.
        now_ms: time of the first look with the record, if no sighting has it.
        written_ms: the record's timestamp.
    """
    first = bisect_right(ends, offset, key=_END)
    after = ends[first].first_ms if first < len(ends) else now_ms
    if not first:
        return after
    before = ends[first - 1].last_ms
    if written_ms is not None and before <= written_ms <= after:
        return written_ms
    return min(after, before + INTERVAL_MS)


def lag_seconds(
    ends: Sequence[Ends], mirrored_to: int, now_ms: int, written_ms: int | None = None
) -> float | None:
    """Returns for how many seconds the record at `mirrored_to` has been below the end.

    Returns 0 when `mirrored_to` has reached the end. Returns None when there is no sighting, or
    when the end was reached at a sighting older than FRESH_MS.
    """
    if not ends:
        return None
    if ends[-1].end <= mirrored_to:
        return 0.0 if now_ms - ends[-1].last_ms <= FRESH_MS else None
    return max(0, now_ms - arrived_ms(ends, mirrored_to, now_ms, written_ms)) / 1000


def lag_at_most(ends: Sequence[Ends], mirrored_to: int, end: int, now_ms: int) -> float | None:
    """Returns the lag for a caller that sees the end now; its sightings may be a minute old."""
    if end <= mirrored_to:
        return 0.0
    return lag_seconds([*ends, Ends(now_ms, now_ms, end)], mirrored_to, now_ms) if ends else None


def least_missed(sightings: Sequence[Sighting], now_ms: int) -> int:
    """Returns the index of the sighting to forget first, never the first or the last one.

    The time between the neighbors of that sighting is the smallest fraction of its age.
    """

    def missed(each: int) -> float:
        time_between = sightings[each + 1].first_ms - sightings[each - 1].first_ms
        return time_between / max(now_ms - sightings[each].first_ms, 1)

    return min(range(1, len(sightings) - 1), key=missed)


def packed(sightings: Sequence[Sighting]) -> list[int]:
    """Returns the numbers for an entry's metadata, at most PACKED_BYTES_MAX as JSON.

    Of too many sightings the most informative ones are kept.
    """
    kept = list(sightings)
    # Every entry is packed while many partitions catch up: the search is kept to few sightings.
    while len(kept) > PACKED_FROM_MAX:
        kept = [kept[0], *kept[1:-1:2], kept[-1]]
    while len(kept) > 2 and _size(kept) > PACKED_BYTES_MAX:
        del kept[least_missed(kept, kept[-1].last_ms)]
    while kept and _size(kept) > PACKED_BYTES_MAX:
        del kept[0]
    return _numbers(kept)


def unpacked(numbers: object) -> Sightings:
    """Returns the sightings that `packed` encoded; none when the numbers are not ours."""
    if not isinstance(numbers, list) or not all(type(each) is int for each in numbers):
        return ()
    found: list[Sighting] = []
    time_ms = stable = 0
    for at in range(0, len(numbers) - _NUMBERS + 1, _NUMBERS):
        later, lasted, more, unstable = numbers[at : at + _NUMBERS]
        time_ms, stable = time_ms + later, stable + more
        found.append(Sighting(time_ms, time_ms + lasted, stable, stable + unstable))
        time_ms += lasted
    return tuple(found) if _is_ascending(found) else ()


def _numbers(sightings: Iterable[Sighting]) -> list[int]:
    """Returns each sighting as its distance from the one before it."""
    numbers: list[int] = []
    time_ms = stable = 0
    for each in sightings:
        numbers += [each.first_ms - time_ms, each.last_ms - each.first_ms]
        numbers += [each.stable - stable, each.high - each.stable]
        time_ms, stable = each.last_ms, each.stable
    return numbers


def _size(sightings: Sequence[Sighting]) -> int:
    return sum(len(str(number)) + 1 for number in _numbers(sightings)) + 1


def _is_ascending(sightings: Sequence[Sighting]) -> bool:
    return all(each.first_ms <= each.last_ms for each in sightings) and all(
        one.last_ms <= two.first_ms and one.stable <= two.stable and one.high <= two.high
        for one, two in pairwise(sightings)
    )
