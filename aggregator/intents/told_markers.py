"""Told markers: what is passed of more encoded partitions than an intent has room for.

Each object that is passed is told of in the topic of the feed's objects, in the transaction of the
intent that passes it. Where the markers do not fit into the intent, it says from which offset of
that topic they are told, and how many there are: whoever takes over reads them there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple


class Marker(NamedTuple):
    """End of the last object of an encoded partition that was told.

    Args:
        end: offset behind its last record.
        told_at: offset of its record in the topic of objects, or one below; None: not known, so the
            intent has to name the marker itself.
    """

    end: int
    told_at: int | None = None


@dataclass(frozen=True, slots=True)
class ToldMarkers:
    """Markers of an intent that are told elsewhere.

    Args:
        begin: offset in the topic of objects from which they are told.
        base: offset of the intent that told so; a marker ends above it.
        count, digest: of the markers, by `digest_of`.
        markers: by encoded partition, as they are known here; None: they have to be read.
    """

    begin: int
    base: int
    count: int
    digest: int
    markers: Mapping[str, Marker] | None = field(default=None, compare=False, repr=False)

    def passed_to(self, name: str, otherwise: int) -> int:
        """Returns the offset below which all of an encoded partition is passed."""
        known = (self.markers or {}).get(name)
        return otherwise if known is None else known.end

    def found(
        self, told: Iterable[tuple[str, Marker]], named: Mapping[str, object]
    ) -> Mapping[str, Marker] | None:
        """Returns the markers among what was told; None if they are not those of the intent.

        Args:
            told: from `begin` on, in order, by encoded partition.
            named: encoded partitions that the intent names itself.
        """
        last = dict(told)
        markers = {
            name: each for name, each in last.items() if each.end > self.base and name not in named
        }
        digest = sum(digest_of(name, each.end) for name, each in markers.items()) % DIGESTS
        return markers if (len(markers), digest) == (self.count, self.digest) else None


DIGESTS = 1 << 48


def digest_of(name: str, end: int) -> int:
    """Returns the number of a marker; those of several are added."""
    return int.from_bytes(blake2b(f"{name}\0{end}".encode(), digest_size=6).digest())
