"""Listed inventory: the objects that are in the bucket, for a cluster that tells nothing any more.

An object's name tells its topic, partition and first offset, and the end of its file the rest: only
that is read. Whether an object is missing is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from aggregator.objects.object_name import ObjectName, parsed
from aggregator.objects.told_object import ToldObject
from aggregator.restore.column_records import lacking
from aggregator.restore.object_inventory import Inventory
from aggregator.restore.restore_job import RestoreRequest
from aggregator.restore.restore_plan import EXTENSION, CannotRestore
from aggregator.s3.object_file import ObjectFile
from aggregator.s3.object_store import ObjectStore
from replicator.runtime.run_in_thread import run_in_thread

AT_ONCE = 16
"""Objects that are asked for at once."""
ENDLESS = 2**63 - 1


class Extent(NamedTuple):
    """Extent of an object's records; `end` is behind the last one."""

    end: int
    records: int
    first_ms: int
    last_ms: int


UNKNOWN = Extent(ENDLESS, 1, 0, ENDLESS)
"""Extent of an object of another format: it may hold any record from its begin on."""


class ListedInventory:
    """Objects of a request, by a listing of their bucket."""

    def __init__(self, request: RestoreRequest, store: ObjectStore) -> None:
        self._request, self._store = request, store
        self._objects: list[ToldObject] = []

    async def prepare(self) -> None:
        """Lists the bucket, and reads the ends of its files. Raises StoreProblem, CannotRestore."""
        self._objects = await run_in_thread(self._listed)

    async def open(self) -> None:
        """Connects to nothing: the store is asked request by request."""

    async def close(self) -> None:
        """Ends nothing."""

    trouble = ""

    async def take(self) -> Inventory:
        partitions = max((each.partition + 1 for each in self._objects), default=0)
        return Inventory(self._objects, {}, partitions)

    async def group_offsets(self, group: str, partitions: int) -> list[tuple[int, int]]:
        raise CannotRestore(
            f"the offsets of group {group} are in {self._request.source}, which --from-listing "
            "does not ask: name them by --offset"
        )

    def _listed(self) -> list[ToldObject]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return [each for each in pool.map(self._told, self._names()) if each is not None]

    def _names(self) -> Iterator[ObjectName]:
        request = self._request
        prefix = request.feed.prefix_of(request.source)
        for each in self._store.objects("/".join(filter(None, (prefix, request.topic))) + "/"):
            name = parsed(each.key, prefix)
            if name is not None and request.wanted.of(name.partition) is not None:
                yield name

    def _told(self, name: ObjectName) -> ToldObject | None:
        """Returns what an object tells of itself; None if it is gone by now."""
        found = self._store.head(name.key)
        if found is None:
            return None
        extent = UNKNOWN
        if name.key.endswith(EXTENSION):
            extent = _extent(ObjectFile(self._store, name.key, found.size_bytes))
        crc = self._store.read_crc32c(name.key) if found.crc32c is None else found.crc32c
        return ToldObject(
            key=name.key,
            cluster=str(self._request.source),
            topic=name.topic,
            partition=name.partition,
            begin=name.begin,
            end=extent.end,
            records=extent.records,
            left_out=0,
            size_bytes=found.size_bytes,
            crc32c=crc,
            first_ms=extent.first_ms,
            last_ms=extent.last_ms,
            schema="another" if extent is UNKNOWN else "",
            digest="",
            sealed_at_ms=int(found.modified_at * 1000),
            told_at_ms=int(found.modified_at * 1000),
        )


def _extent(file: ObjectFile) -> Extent:
    """Returns what the footer of a Parquet file tells. Raises CannotRestore."""
    try:
        footer = pq.read_metadata(pa.PythonFile(file, "r"))
    except (pa.ArrowException, OSError) as error:
        raise CannotRestore(f"{file.key} cannot be read as Parquet: {error}") from error
    if lacking(footer.schema.to_arrow_schema()) is not None:
        return UNKNOWN
    offsets, times = _bounds(footer, "offset"), _bounds(footer, "timestamp")
    if not offsets:
        raise CannotRestore(
            f"{file.key} does not tell its offsets (no statistics): it was rewritten by others; "
            "bring the object back, or move it elsewhere"
        )
    return Extent(max(offsets) + 1, footer.num_rows, min(times, default=-1), max(times, default=-1))


def _bounds(footer: pq.FileMetaData, name: str) -> list[int]:
    """Returns the least and the greatest value of a column in each row group that has any."""
    at = footer.schema.names.index(name)
    found: list[int] = []
    for number in range(footer.num_row_groups):
        values = footer.row_group(number).column(at).statistics
        if values is not None and values.has_min_max:
            found += [values.min_raw, values.max_raw]
    return found
