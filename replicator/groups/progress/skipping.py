"""Records of an aggregate that a group has read already, in whatever region it read them.

After a move, a group meets records that it read elsewhere. This continues for a while: its old
region's newest records arrive here later. Records below the group's vector were read.
"""

from __future__ import annotations

from enum import Enum

from replicator.groups.progress.partition_in_region import PartitionInRegion, Vector


class RecordState(Enum):
    """State of a record for a group with a vector."""

    READ = "read"
    UNREAD = "unread"
    UNKNOWN = "unknown"
    """The record's run is not published yet; ask again when more runs are known."""


def record_state(aggregate: PartitionInRegion, offset: int, vector: Vector) -> RecordState:
    """Returns the state of the record at an offset of an aggregate's partition, by its runs.

    Runs of several regions claim an offset where an aggregate lost its end and grew again. Nobody
    knows which of them is right, and the record counts as unread.

    Args:
        vector: of every source region, the first source offset that the group has not read; 0 where
            none is named.
    """
    found = origins(aggregate, offset)
    if not found:
        return RecordState.UNKNOWN
    is_read = len(found) == 1 and found[0][1] < vector.get(found[0][0], 0)
    return RecordState.READ if is_read else RecordState.UNREAD


def origins(aggregate: PartitionInRegion, offset: int) -> list[tuple[str, int]]:
    """Returns the (source region, source offset) that runs claim for the record at an offset.

    Empty where no run has the offset; several where runs of several regions claim it.
    """
    claims = ((region, known.runs.source_of(offset)) for region, known in aggregate.known.items())
    return [(region, source) for region, source in claims if source is not None]


def is_past(aggregate: PartitionInRegion, offset: int, vector: Vector) -> bool:
    """Returns True when everything from an offset on is unread, whichever region it comes from."""
    return all(
        _has_passed(aggregate, region, offset, vector.get(region, 0)) for region in aggregate.known
    )


def _has_passed(aggregate: PartitionInRegion, region: str, offset: int, unread: int) -> bool:
    """Returns True when every record of a region with a source offset below `unread` stands before
    this offset."""
    found = aggregate.unread(region, offset)
    if found is None or found.offset >= unread:
        return found is not None
    # A source that ends in markers leaves offsets out: no record will come of those.
    runs = aggregate.known[region].runs
    return runs.knows(found.offset, unread) and not runs.records_between(offset, unread)
