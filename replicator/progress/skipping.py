"""Which records of an aggregate a group has read already, in whatever region it read them.

From its resume position on a group meets records again that it read elsewhere, and goes on to meet
them: a region holds its own newest records before the others do. What lies below the group's
vector was read.
"""

from __future__ import annotations

from enum import Enum

from replicator.progress.aggregate import Aggregate, Vector


class Standing(Enum):
    """Of a record, for a group with a vector."""

    READ = "read"
    UNREAD = "unread"
    UNTOLD = "untold"
    """The run it lies in is not known, and it may be either: ask again when more runs are told."""


def standing(aggregate: Aggregate, offset: int, vector: Vector) -> Standing:
    """Whether a group has read the record at an offset of an aggregate's partition, by its runs.

    Runs of several regions claim an offset where an aggregate lost its end, and grew again: which
    of them is right nobody knows, and the record counts as unread.

    Args:
        vector: of every source region, the first source offset that the group has not read; 0
            where none is named.
    """
    found = origins(aggregate, offset)
    if not found:
        return Standing.UNTOLD
    is_read = len(found) == 1 and found[0][1] < vector.get(found[0][0], 0)
    return Standing.READ if is_read else Standing.UNREAD


def origins(aggregate: Aggregate, offset: int) -> list[tuple[str, int]]:
    """The source region and offset of the record that stands at an offset, by every region's runs;
    none where no run says."""
    claims = ((region, known.runs.source_of(offset)) for region, known in aggregate.known.items())
    return [(region, source) for region, source in claims if source is not None]


def is_past(aggregate: Aggregate, offset: int, vector: Vector) -> bool:
    """Whether everything from an offset on is unread, whichever region it comes from."""
    return all(
        _has_passed(aggregate, region, offset, vector.get(region, 0)) for region in aggregate.known
    )


def _has_passed(aggregate: Aggregate, region: str, offset: int, unread: int) -> bool:
    """Whether all records of a region from below `unread` stand before an offset."""
    place = aggregate.unread(region, offset)
    if place is None or place.offset >= unread:
        return place is not None
    # A source that ends in markers leaves offsets out: nothing more will come of those.
    runs = aggregate.known[region].runs
    return runs.knows(place.offset, unread) and not runs.records_between(offset, unread)
