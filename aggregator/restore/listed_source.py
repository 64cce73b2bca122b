"""Listed source: the objects that are in the bucket, for a cluster that tells nothing any more.

An object's name tells its topic, partition and first offset, and the end of its file the rest: only
that is read. Whether an object is missing is not known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from aggregator.formats.record_slice import NO_TIME
from aggregator.objects.object_name import ObjectName, parsed
from aggregator.objects.told_object import ToldObject
from aggregator.restore.column_records import lacking
from aggregator.restore.object_inventory import Inventory
from aggregator.restore.restore_job import RestoreRequest
from aggregator.restore.restore_plan import EXTENSION, CannotRestore
from aggregator.s3.busy_store import until_answered
from aggregator.s3.object_file import ObjectFile
from aggregator.s3.object_listing import HEADS_AT_ONCE
from aggregator.s3.object_store import ObjectStore
from replicator.runtime.gather import gather_or_cancel
from replicator.runtime.run_in_thread import run_in_thread

WINDOW = 1000
"""Objects that are asked for together; of these HEADS_AT_ONCE at a time."""
ENDLESS = 2**63 - 1
UNKNOWN_SCHEMA = "unknown"
"""Schema of an object of another format. It is refused as those are that have one."""


class Extent(NamedTuple):
    """Extent of an object's records; `end` is behind the last one."""

    end: int
    records: int
    first_ms: int
    last_ms: int


class ListedSource:
    """Objects of a request, by a listing of their bucket."""

    def __init__(self, request: RestoreRequest, store: ObjectStore) -> None:
        self._request, self._store = request, store
        self._objects: list[ToldObject] = []
        self._partitions = 0

    trouble = ""
    """The store is asked request by request."""

    async def prepare(self) -> None:
        """Lists the bucket, and reads the ends of its files. Raises StoreProblem, CannotRestore."""
        names = await run_in_thread(self._names)
        self._partitions = max((name.partition + 1 for name in names), default=0)
        wanted = [name for name in names if self._may_hold(name)]
        following = _following(wanted)
        for begin in range(0, len(wanted), WINDOW):
            limit = asyncio.Semaphore(HEADS_AT_ONCE)
            window = wanted[begin : begin + WINDOW]
            self._objects += await gather_or_cancel(
                *(self._asked(name, following[name], limit) for name in window)
            )

    async def open(self) -> None:
        """Connects to nothing."""

    async def close(self) -> None:
        """Ends nothing."""

    async def take(self) -> Inventory:
        return Inventory(self._objects, {}, self._partitions)

    async def group_offsets(self, group: str, partitions: int) -> list[tuple[int, int]]:
        raise CannotRestore(
            f"the offsets of group {group} are in {self._request.source}, which is not asked: name "
            "them by --offset"
        )

    def _names(self) -> list[ObjectName]:
        request = self._request
        prefix = request.feed.prefix_of(request.source)
        folder = "/".join(filter(None, (prefix, request.topic)))
        names = (parsed(each.key, prefix) for each in self._store.objects(f"{folder}/"))
        return [name for name in names if name is not None]

    def _may_hold(self, name: ObjectName) -> bool:
        offsets = self._request.wanted.of(name.partition)
        if offsets is None or not self._request.takes(name.incarnation):
            return False
        return offsets.end is None or name.begin < offsets.end

    async def _asked(
        self, name: ObjectName, next_begin: int, limit: asyncio.Semaphore
    ) -> ToldObject:
        async with limit:
            return await run_in_thread(until_answered, lambda: self._told(name, next_begin))

    def _told(self, name: ObjectName, next_begin: int) -> ToldObject:
        """Returns what an object tells of itself.

        Args:
            next_begin: begin of the next object of the same folder.
        """
        found = self._store.head(name.key)
        if found is None:
            raise CannotRestore(
                f"{name.key} was listed, and is gone; bring it back, or name a range without it"
            )
        extent = None
        if name.key.endswith(EXTENSION):
            extent = _extent(ObjectFile(self._store, name.key, found.size_bytes))
        crc = self._store.read_crc32c(name.key) if found.crc32c is None else found.crc32c
        # An object of another format may hold any record up to the next one.
        known = extent or Extent(next_begin, 1, -ENDLESS, ENDLESS)
        return ToldObject(
            key=name.key,
            cluster=str(self._request.source),
            topic=name.topic,
            partition=name.partition,
            begin=name.begin,
            end=known.end,
            records=known.records,
            left_out=0,
            size_bytes=found.size_bytes,
            crc32c=crc,
            first_ms=known.first_ms,
            last_ms=known.last_ms,
            schema=UNKNOWN_SCHEMA if extent is None else "",
            digest="",
            sealed_at_ms=int(found.modified_at * 1000),
            told_at_ms=int(found.modified_at * 1000),
            incarnation=name.incarnation,
        )


def _following(names: Iterable[ObjectName]) -> dict[ObjectName, int]:
    """Returns for each object the begin of the next one of its folder."""
    found: dict[ObjectName, int] = {}
    ends: dict[tuple[str, int, int], int] = {}
    for name in sorted(names, key=lambda each: each.begin, reverse=True):
        folder = name.encoded_partition, name.partition, name.incarnation
        found[name] = ends.get(folder, ENDLESS)
        ends[folder] = name.begin
    return found


def _extent(file: ObjectFile) -> Extent | None:
    """Returns what the footer of a Parquet file tells; None if it has other columns.

    Raises CannotRestore.
    """
    try:
        footer = pq.read_metadata(pa.PythonFile(file, "r"))
    except (pa.ArrowException, OSError) as error:
        raise CannotRestore(
            f"{file.key} cannot be read as Parquet ({error}); bring the object back, or name a "
            "range that ends before it"
        ) from error
    if lacking(footer.schema.to_arrow_schema()) is not None:
        return None
    offsets, times = _bounds(footer, "offset"), _bounds(footer, "timestamp")
    if not offsets:
        raise CannotRestore(
            f"{file.key} does not tell its offsets (no statistics): it was rewritten by others; "
            "bring the object back, or move it elsewhere"
        )
    return Extent(
        max(offsets) + 1, footer.num_rows, min(times, default=NO_TIME), max(times, default=NO_TIME)
    )


def _bounds(footer: pq.FileMetaData, name: str) -> list[int]:
    """Returns the least and the greatest value of a column in each row group that has any."""
    at = footer.schema.names.index(name)
    found: list[int] = []
    for number in range(footer.num_row_groups):
        values = footer.row_group(number).column(at).statistics
        if values is not None and values.has_min_max:
            found += [values.min_raw, values.max_raw]
    return found
