"""Passed markers: the encoded partitions of which records above the committed offset are passed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

from aggregator.intents.told_markers import DIGESTS, Marker, ToldMarkers, digest_of


@dataclass(slots=True)
class PassedMarkers:
    """Markers by encoded partition. Each change costs as much as the logarithm of their number: a
    partition may have ten thousand folders."""

    named: dict[str, Marker] = field(init=False, default_factory=dict)
    """Markers of which it is not known where they are told: the intent has to name them."""
    told: dict[str, Marker] = field(init=False, default_factory=dict)
    """Markers that are told elsewhere."""
    _digest: int = field(init=False, default=0)
    _ends: list[tuple[int, str]] = field(init=False, default_factory=list)
    _begins: list[tuple[int, str]] = field(init=False, default_factory=list)

    def __len__(self) -> int:
        return len(self.named) + len(self.told)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Yields encoded partitions, and what is passed of each."""
        for markers in (self.named, self.told):
            for name, each in markers.items():
                yield name, each.end

    def put(self, name: str, marker: Marker) -> None:
        """Notes the last object of an encoded partition that is passed."""
        self.drop(name)
        heappush(self._ends, (marker.end, name))
        if marker.told_at is None:
            self.named[name] = marker
            return
        self.told[name] = marker
        self._digest = (self._digest + digest_of(name, marker.end)) % DIGESTS
        heappush(self._begins, (marker.told_at, name))

    def drop(self, name: str) -> None:
        """Forgets an encoded partition: an intent names its next object."""
        self.named.pop(name, None)
        if (before := self.told.pop(name, None)) is not None:
            self._digest = (self._digest - digest_of(name, before.end)) % DIGESTS

    def pass_by(self, offset: int) -> Iterator[str]:
        """Forgets the markers that say no more than the committed offset; yields their names."""
        while self._ends and self._ends[0][0] <= offset:
            end, name = heappop(self._ends)
            known = self.named.get(name) or self.told.get(name)
            if known is not None and known.end == end:
                self.drop(name)
                yield name

    def summary(self, offset: int) -> ToldMarkers | None:
        """Returns what an intent of this offset says of the markers that are told."""
        while self._begins and not self._is_told_at(*self._begins[0]):
            heappop(self._begins)
        if not self.told:
            return None
        begin = self._begins[0][0]
        markers = dict(self.told)
        return ToldMarkers(begin, offset, len(markers), self._digest, markers)

    def _is_told_at(self, told_at: int, name: str) -> bool:
        known = self.told.get(name)
        return known is not None and known.told_at == told_at
