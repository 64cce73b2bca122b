"""Verdict from fingerprints: does a target partition hold exactly what its sources sent?

A fingerprint is a number that stands for a whole record (key, value, headers, timestamp); see
dump.py. The functions are pure, and fast enough for millions of records.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

EXAMPLES_MAX = 5


class RecordsDiffer(AssertionError):
    """A target does not hold exactly what its sources sent. A test that fails with this is never
    rerun."""


@dataclass(frozen=True, slots=True)
class RouteVerdict:
    """Counts of one source's records.

    arrived + lost + changed = sent. Duplicates are counted beyond the record that arrived.
    `reordered` is the least number of records that would have to move to restore the source's
    order.
    """

    sent: int = 0
    arrived: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    changed: int = 0

    @property
    def is_right(self) -> bool:
        return not (self.lost or self.duplicated or self.reordered or self.changed)

    def assert_exact(self) -> None:
        """Raises RecordsDiffer if records are lost, duplicated, reordered or changed."""
        if not self.is_right:
            raise RecordsDiffer(str(self))

    def __add__(self, other: "RouteVerdict") -> "RouteVerdict":
        return RouteVerdict(
            self.sent + other.sent,
            self.arrived + other.arrived,
            self.lost + other.lost,
            self.duplicated + other.duplicated,
            self.reordered + other.reordered,
            self.changed + other.changed,
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Verdict on one target, by route. Foreign records come from no source."""

    routes: Mapping[str, RouteVerdict] = field(default_factory=dict)
    foreign: int = 0
    # A few of each kind, such as "lost: west>east 17". The number is the position at the source;
    # for foreign and duplicated records, at the target.
    examples: tuple[str, ...] = ()

    @property
    def total(self) -> RouteVerdict:
        return sum(self.routes.values(), RouteVerdict())

    @property
    def is_right(self) -> bool:
        """True if no record is lost, duplicated, reordered, changed or foreign."""
        return not self.foreign and self.total.is_right

    def assert_exact(self) -> None:
        """Raises RecordsDiffer if is_right is false."""
        if not self.is_right:
            raise RecordsDiffer(str(self))

    def __add__(self, other: "Comparison") -> "Comparison":
        """Returns the sum of two verdicts, as for two partitions of one topic."""
        routes = dict(self.routes)
        for route, verdict_of_route in other.routes.items():
            routes[route] = routes.get(route, RouteVerdict()) + verdict_of_route
        return Comparison(routes, self.foreign + other.foreign, self.examples + other.examples)


def verdict(
    sources: Mapping[str, Ints],
    target: Ints,
    *,
    name_source: Callable[[str, int], str] = lambda route, position: f"{route} {position}",
    name_target: Callable[[int], str] = lambda position: f"target {position}",
) -> Comparison:
    """Compares one target partition with the partitions that feed it, by route.

    Records of several sources may interleave in the target in any way. Equal records are
    distinguished by count only. The number that arrived is exact. Order is not judged for a record
    that more than one source sent, nor for one that a source sent several times if some copies are
    missing. The two naming functions describe examples.
    """
    matches = _match(sources, target)
    changed = _changed(matches)
    missing = matches.missing_mask()
    altered = np.array([position for position, _ in changed], dtype=np.int64)
    lost = missing.copy()
    lost[altered] = False
    foreign = np.setdiff1d(matches.foreign, [position for _, position in changed])

    verdicts: dict[str, RouteVerdict] = {}
    examples: list[str] = []
    for number, route in enumerate(matches.routes):
        own = matches.route == number
        sequence = matches.sequence_of(number)
        verdicts[route] = RouteVerdict(
            sent=int(own.sum()),
            arrived=int((own & ~missing).sum()),
            lost=int((own & lost).sum()),
            duplicated=int((matches.duplicate_of == number).sum()),
            reordered=_out_of_order(sequence),
            changed=int(own[altered].sum()),
        )
        behind = sequence[1:][np.diff(sequence) < 0]
        examples += _examples("reordered", behind, partial(name_source, route))

    def name(position: int) -> str:
        return name_source(matches.routes[matches.route[position]], int(matches.index[position]))

    examples += _examples("changed", altered, name)
    examples += _examples("lost", np.flatnonzero(lost), name)
    examples += _examples("duplicated", np.flatnonzero(matches.duplicate_of >= 0), name_target)
    examples += _examples("foreign", foreign, name_target)
    return Comparison(verdicts, len(foreign), tuple(examples))


def _examples(kind: str, positions: Ints, name: Callable[[int], str]) -> list[str]:
    return [f"{kind}: {name(position)}" for position in positions[:EXAMPLES_MAX].tolist()]


@dataclass(frozen=True, slots=True)
class _Matches:
    """Assignment of target records to source records. Positions count through all sources."""

    routes: tuple[str, ...]
    # Per source record: its route (by number) and its index within that route.
    route: Ints
    index: Ints
    # Per target record: the position of its source record, or -1; the route (by number) of a
    # surplus copy, or -1; and whether its order can be judged.
    source_of: Ints
    duplicate_of: Ints
    is_ordered: npt.NDArray[np.bool_]

    @property
    def foreign(self) -> Ints:
        unknown: Ints = np.flatnonzero((self.source_of < 0) & (self.duplicate_of < 0))
        return unknown

    def missing_mask(self) -> npt.NDArray[np.bool_]:
        mask = np.ones(len(self.route), dtype=np.bool_)
        mask[self.source_of[self.source_of >= 0]] = False
        return mask

    def sequence_of(self, route: int) -> Ints:
        """Source indices of the route's records, in the order of the target."""
        positions = self.source_of[(self.source_of >= 0) & self.is_ordered]
        own: Ints = self.index[positions[self.route[positions] == route]]
        return own


def _match(sources: Mapping[str, Ints], target: Ints) -> _Matches:
    """Matches the k-th of equal source records with the k-th of them in the target."""
    routes = tuple(sources)
    lengths = [len(sources[route]) for route in routes]
    route = np.repeat(np.arange(len(routes)), lengths)
    index = np.concatenate([np.arange(n) for n in lengths] or [np.zeros(0, dtype=np.int64)])
    sent = np.concatenate([sources[name] for name in routes] or [np.zeros(0, dtype=np.int64)])

    by_print = np.argsort(sent, kind="stable")
    prints, begin, count = np.unique(sent[by_print], return_index=True, return_counts=True)
    target_by_print = np.argsort(target, kind="stable")
    found, target_begin, target_count = np.unique(
        target[target_by_print], return_index=True, return_counts=True
    )
    group = np.searchsorted(prints, found)
    is_known = np.zeros(len(found), dtype=np.bool_)
    inside = group < len(prints)
    is_known[inside] = prints[group[inside]] == found[inside]

    # All arrays from here on are per target record, in the order of target_by_print.
    spread = np.repeat(np.arange(len(found)), target_count)
    rank = np.arange(len(target)) - target_begin[spread]
    known = is_known[spread]
    own_group = np.where(known, group[spread], 0)
    is_matched = known.copy()
    is_matched[known] = rank[known] < count[own_group[known]]

    source_of = np.full(len(target), -1, dtype=np.int64)
    source_of[target_by_print[is_matched]] = by_print[
        begin[own_group[is_matched]] + rank[is_matched]
    ]
    duplicate_of = np.full(len(target), -1, dtype=np.int64)
    surplus = known & ~is_matched
    duplicate_of[target_by_print[surplus]] = route[by_print[begin[own_group[surplus]]]]

    # Order is known for records sent once, and for equal ones of one source that all arrived.
    alone = (route[by_print[begin]] == route[by_print[begin + count - 1]])[group[is_known]]
    sent_count = count[group[is_known]]
    judged = np.zeros(len(found), dtype=np.bool_)
    judged[is_known] = alone & ((sent_count == 1) | (sent_count == target_count[is_known]))
    is_ordered = np.zeros(len(target), dtype=np.bool_)
    is_ordered[target_by_print] = is_matched & judged[spread]
    return _Matches(routes, route, index, source_of, duplicate_of, is_ordered)


def _changed(matches: _Matches) -> list[tuple[int, int]]:
    """Returns (source, target) positions of missing records that have a foreign record in their
    place.

    In its place means: behind the record that precedes it at the source, or behind another such
    pair.
    """
    missing = matches.missing_mask()
    foreign = matches.foreign
    if not len(foreign) or not missing.any():
        return []
    begins = np.searchsorted(matches.route, np.arange(len(matches.routes) + 1))
    pairs = []
    next_of = begins[:-1].copy()
    seen_upto = 0
    for place in foreign.tolist():
        before = matches.source_of[seen_upto:place]
        for position in before[before >= 0].tolist():
            next_of[matches.route[position]] = position + 1
        seen_upto = place
        for number, position in enumerate(next_of.tolist()):
            if position < begins[number + 1] and missing[position]:
                pairs.append((position, place))
                next_of[number] += 1
                break
    return pairs


def _out_of_order(sequence: Ints) -> int:
    """Counts the numbers that are not part of the longest ascending subsequence."""
    if not (np.diff(sequence) < 0).any():
        return 0
    tails: list[int] = []
    for number in sequence.tolist():
        place = bisect_left(tails, number)
        tails[place : place + 1] = [number]
    return len(sequence) - len(tails)
