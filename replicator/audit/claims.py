"""Claims of runs: which source offsets landed at which target offsets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.spans import Offsets, Span, Spans


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """Runs as columns, ascending on both sides."""

    sources: Offsets
    targets: Offsets
    counts: Offsets

    @classmethod
    def of(cls, runs: OffsetMap) -> Claims:
        piece = runs.piece()
        return cls(piece.sources, piece.targets, piece.counts)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def records(self) -> int:
        return int(self.counts.sum())

    def between(self, begin: int, end: int) -> Claims:
        """Returns the claims about source offsets begin..end-1."""
        return self._cut(np.maximum(begin - self.sources, 0), end - self.sources)

    def landing(self, begin: int, end: int) -> Claims:
        """Returns the claims about target offsets begin..end-1."""
        return self._cut(np.maximum(begin - self.targets, 0), end - self.targets)

    def _cut(self, first: Offsets, last: Offsets) -> Claims:
        count = np.minimum(self.counts, last) - first
        keep = count > 0
        return Claims(
            self.sources[keep] + first[keep], self.targets[keep] + first[keep], count[keep]
        )

    def source_spans(self) -> Spans:
        """Returns the source offsets that are claimed to have landed."""
        return spans_of(self.sources, self.sources + self.counts)

    def target_spans(self) -> Spans:
        """Returns the target offsets that are claimed."""
        return spans_of(self.targets, self.targets + self.counts)

    def landed(self, there: Spans) -> Spans:
        """Returns the source offsets whose claimed target offsets are in `there`."""
        begins, ends = there.columns()
        own_ends = self.targets + self.counts
        first = np.searchsorted(ends, self.targets, side="right")
        last = np.searchsorted(begins, own_ends, side="left")
        touched = np.maximum(last - first, 0)
        run = np.repeat(np.arange(len(self)), touched)
        # 0, 1, 2 ... within each run, then the spans that the run touches.
        nth = np.arange(len(run)) - np.repeat(np.cumsum(touched) - touched, touched)
        span = first[run] + nth
        back = (self.sources - self.targets)[run]
        return spans_of(
            np.maximum(self.targets[run], begins[span]) + back,
            np.minimum(own_ends[run], ends[span]) + back,
        )

    def sources_at(self, targets: Offsets) -> Offsets:
        """Returns the source offset claimed to stand at each target offset; -1 for none."""
        if not len(self):
            return np.full(len(targets), -1, dtype=np.int64)
        run = np.maximum(np.searchsorted(self.targets, targets, side="right") - 1, 0)
        into = targets - self.targets[run]
        is_claimed = (into >= 0) & (into < self.counts[run])
        return np.where(is_claimed, self.sources[run] + into, -1)

    def first_landing(self, target: int) -> int | None:
        """Returns the first source offset that is claimed to stand at or behind a target offset."""
        run = int(np.searchsorted(self.targets + self.counts, target, side="right"))
        if run == len(self):
            return None
        return int(self.sources[run]) + max(0, target - int(self.targets[run]))


def spans_of(begins: Offsets, ends: Offsets) -> Spans:
    """Returns the set of these offsets; spans may touch and overlap."""
    found = Spans()
    found.add_all(begins, ends)
    return found


def size(spans: Spans) -> int:
    """Returns the number of offsets in a set."""
    begins, ends = spans.columns()
    return int((ends - begins).sum())


@dataclass(frozen=True, slots=True)
class Piece:
    """Target offsets to read at once and, by route, the source offsets to compare with them."""

    target: Span
    sources: Mapping[str, Span]


def pieces(
    asked: Mapping[str, Span], claims: Mapping[str, Claims], offsets_max: int
) -> Iterator[Piece]:
    """Yields all that is asked for, in pieces of so many target offsets, every source offset once.

    The target is read once for all routes, however their records interleave there.

    Args:
        asked: the source offsets, by route.
        claims: the claims about them, by route.
    """
    bounds = _bounds([each for each in claims.values() if len(each)], offsets_max)
    at = {route: span.begin for route, span in asked.items()}
    for begin, end in pairwise(bounds):
        is_last = end == bounds[-1]
        sources = {}
        for route, span in asked.items():
            upto = None if is_last else claims[route].first_landing(end)
            stop = span.end if upto is None else upto
            sources[route] = Span(at[route], stop)
            at[route] = stop
        yield Piece(Span(begin, end), sources)


def _bounds(claims: Sequence[Claims], offsets_max: int) -> list[int]:
    if not claims:
        return [0, 0]
    begin = min(int(each.targets[0]) for each in claims)
    end = max(int(each.targets[-1] + each.counts[-1]) for each in claims)
    return [*range(begin, end, offsets_max), end]
