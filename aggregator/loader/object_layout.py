"""Object layout: which records of a feed go into which object, its name, and its format.

Settings and records alone decide.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from aggregator.files.admission import Admission, Check, tombstones
from aggregator.files.compression import STREAMS, SUFFIXES
from aggregator.files.file_writer import FileWriter
from aggregator.files.line_file import LineFile, json_lines, separated
from aggregator.files.parquet_file import ParquetFile
from aggregator.files.record_columns import REPEATING, SCHEMA, record_table
from aggregator.formats.json_flaws import json_flaws
from aggregator.formats.record_slice import RecordSlice
from aggregator.objects.object_name import KEY_BYTES_MAX, ObjectName
from aggregator.objects.partitioner import ByField, ByPartition, ByTime, Partitioner, WithinLimit
from balancer.plan import TopicPartition
from replicator.config.object_feed import FROM_RECORD, ObjectFeed, prefix_of

EXTENSIONS = {"parquet": "parquet", "json_lines": "json", "bytes": "bin"}
OFFSET_MAX = 2**63 - 1
FOLDER_SETTINGS = ("partition_by", "fields", "folders", "time_from", "time_unit")
"""Settings that, with the zone, decide a record's encoded partition."""
BYTES_SETTINGS = (
    *FOLDER_SETTINGS,
    "prefix",
    "file",
    "codec",
    "separator",
    "tombstones",
    "offset_digits",
)
"""Settings that, with the zone, decide the bytes of an object, and its name."""


@dataclass(frozen=True)
class ObjectLayout:
    """Layout of the objects that a feed makes of one cluster's topics."""

    feed: ObjectFeed
    cluster: str

    def route(self, place: TopicPartition, records: RecordSlice) -> Mapping[str, RecordSlice]:
        """Returns the records of each encoded partition."""
        return self._partitioner(place).folders(place.partition, records).split(records)

    def key(self, place: TopicPartition, encoded_partition: str, begin: int) -> str:
        """Returns the name of an object that begins at an offset."""
        return ObjectName(
            prefix=prefix_of(self.feed.prefix, self.cluster),
            topic=place.topic,
            encoded_partition=encoded_partition,
            partition=place.partition,
            begin=begin,
            extension=self.extension,
            digits=self.feed.offset_digits,
        ).key

    def admission(self, place: TopicPartition, encoded_partition: str) -> Admission:
        """Returns which records are in the files of an encoded partition."""
        feed, partitioner = self.feed, self._partitioner(place)
        checks: list[Check] = []
        if encoded_partition == partitioner.nowhere(place.partition):
            checks.append(partial(partitioner.too_long, place.partition))
        if feed.file == "json_lines":
            checks.append(json_flaws)
        if feed.tombstones == "dead_letters":
            checks.append(tombstones)
        # A file of bytes has no null that differs from an empty value.
        is_without = feed.file == "bytes" and feed.tombstones == "written"
        return Admission(tuple(checks), is_without or feed.tombstones == "left_out")

    def writer(self, place: TopicPartition) -> FileWriter:
        """Returns the writer of a new file."""
        feed = self.feed
        if feed.file == "parquet":
            table = partial(record_table, topic=place.topic, partition=place.partition)
            return ParquetFile(SCHEMA, table, feed.codec, dictionaries=REPEATING)
        lines = json_lines
        if feed.file == "bytes":
            lines = partial(separated, separator=feed.separator.encode())
        return LineFile(lines, STREAMS[feed.codec]())

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the settings that decide an object's bytes and name."""
        return self._fingerprint(BYTES_SETTINGS)

    @cached_property
    def folders(self) -> str:
        """Fingerprint of the settings that decide a record's encoded partition."""
        return self._fingerprint(FOLDER_SETTINGS)

    def _fingerprint(self, names: Iterable[str]) -> str:
        settings = {name: getattr(self.feed, name) for name in names}
        text = json.dumps({**settings, "zone": self.feed.zone.key}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def _partitioner(self, place: TopicPartition) -> WithinLimit:
        room = KEY_BYTES_MAX - len(f"{self.key(place, '', OFFSET_MAX)}/".encode())
        return WithinLimit(self._unlimited, room)

    @cached_property
    def _unlimited(self) -> Partitioner:
        feed = self.feed
        match feed.partition_by:
            case "field":
                return ByField(feed.fields)
            case "time":
                field = None if feed.time_from == FROM_RECORD else feed.time_from
                return ByTime(feed.folders, feed.zone, field, feed.time_unit)
        return ByPartition()

    @property
    def extension(self) -> str:
        """Extension of new objects, without its dot."""
        extension, codec = EXTENSIONS[self.feed.file], self.feed.codec
        if self.feed.file == "parquet":
            return extension if codec == "none" else f"{codec}.{extension}"
        return extension + SUFFIXES[codec]
