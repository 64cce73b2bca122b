"""Object layout: which records of a feed go into which object, its name, and its format.

Settings and records alone decide.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from aggregator.files.admission import Admission, Check, tombstones
from aggregator.files.decoding import Decode
from aggregator.files.file_writer import FileWriter
from aggregator.formats.record_slice import Ints, RecordSlice
from aggregator.formats.schema_ids import NO_ID, SchemasWanted, schema_ids
from aggregator.loader.file_kind import FileKind, kind_of
from aggregator.objects.datum_fields import DatumFields
from aggregator.objects.folders import Folders
from aggregator.objects.json_fields import field_texts
from aggregator.objects.object_name import KEY_BYTES_MAX, ObjectName
from aggregator.objects.partitioner import ByField, ByPartition, ByTime, Partitioner, WithinLimit
from aggregator.objects.schema_versions import SchemaVersions, bare, versioned
from aggregator.schemas.known_schemas import KnownSchemas
from aggregator.schemas.schema_registry import SchemaRegistry
from balancer.topic_partition import TopicPartition
from replicator.config.object_feed import FROM_RECORD, ObjectFeed, prefix_of
from replicator.config.schema_folder import SchemaFolder
from replicator.config.schema_source import RegistryUrl

OFFSET_MAX = 2**63 - 1
FOLDER_SETTINGS = {
    "partition": ("partition_by", "keeps_apart"),
    "field": ("partition_by", "keeps_apart", "fields", "reads_datums"),
    "time": ("partition_by", "keeps_apart", "folders", "time_from", "time_unit", "reads_datums"),
}
"""Settings that decide a record's encoded partition, by `partition_by`; of times the zone as well.
"""
BYTES_SETTINGS = (
    "partition_by",
    "fields",
    "folders",
    "time_from",
    "time_unit",
    "keeps_apart",
    "reads_datums",
    "prefix",
    "file",
    "codec",
    "separator",
    "tombstones",
    "offset_digits",
    "format",
    "compatibility",
    "columns",
    "check_datums",
)
"""Settings that, with the zone, decide the bytes of an object, and its name."""


@dataclass(frozen=True)
class ObjectLayout:
    """Layout of the objects that a feed makes of one cluster's topics.

    Args:
        unknown_seconds: time for which a registry is asked for an id that it does not know.
    """

    feed: ObjectFeed
    cluster: str
    unknown_seconds: float = 0.0

    def route(
        self, place: TopicPartition, records: RecordSlice, incarnation: int = 0
    ) -> Mapping[str, RecordSlice]:
        """Returns the records of each encoded partition, and of each version of their schema where
        these are kept apart.

        Args:
            incarnation: of the partition's log.

        Raises:
            SchemasWanted: some are not known yet.
        """
        ids = self._ids(place.topic, records)
        folders = self._partitioner(place, incarnation).folders(place.partition, records)
        if ids is not None and self.feed.keeps_apart:
            folders = _by_version(folders, ids)
        return folders.split(records)

    def key(
        self, place: TopicPartition, encoded_partition: str, begin: int, incarnation: int = 0
    ) -> str:
        """Returns the name of an object that begins at an offset of a partition's log."""
        return ObjectName(
            prefix=prefix_of(self.feed.prefix, self.cluster),
            topic=place.topic,
            encoded_partition=bare(encoded_partition),
            partition=place.partition,
            begin=begin,
            extension=self.extension,
            digits=self.feed.offset_digits,
            incarnation=incarnation,
        ).key

    def admission(
        self,
        place: TopicPartition,
        encoded_partition: str,
        decode: Decode | None = None,
        incarnation: int = 0,
    ) -> Admission:
        """Returns which records are in a file of an encoded partition.

        Args:
            decode: the file's own.
            incarnation: of the partition's log.
        """
        kind, partitioner = self._kind, self._partitioner(place, incarnation)
        checks: list[Check] = []
        if bare(encoded_partition) == partitioner.nowhere(place.partition):
            checks.append(partial(partitioner.too_long, place.partition))
        checks += kind.checks
        if self.feed.tombstones == "dead_letters":
            checks.append(tombstones)
        is_without = not kind.has_nulls and self.feed.tombstones == "written"
        leaves_out = is_without or self.feed.tombstones == "left_out"
        return Admission(tuple(checks), leaves_out, decode)

    def writer(self, place: TopicPartition, key: str = "") -> FileWriter:
        """Returns the writer of a new file.

        Args:
            key: of its object.
        """
        return self._kind.writer(place, key)

    def versions(self, topic: str) -> SchemaVersions | None:
        """Returns the versions of schemas that share objects of a topic; None: there are none."""
        if self.feed.keeps_apart or not self.has_ids(topic):
            return None
        return SchemaVersions(self.feed.compatibility, self.schemas)

    @cached_property
    def schemas(self) -> KnownSchemas:
        """Schemas of the feed."""
        feed = self.feed
        match feed.schemas:
            case RegistryUrl(url):
                registry = SchemaRegistry(
                    url=url,
                    user=feed.registry_user,
                    password_file=feed.registry_password_file,
                    ca_file=str(feed.registry_ca_file) if feed.registry_ca_file else None,
                )
                return KnownSchemas(
                    registry=registry, taken=feed.columns, unknown_seconds=self.unknown_seconds
                )
            case SchemaFolder() as folder:
                return KnownSchemas(folder.files, folder.path.name if folder.is_single else None)
        return KnownSchemas()

    def _ids(self, topic: str, records: RecordSlice) -> Ints | None:
        """Returns the schema ids of records, all of which are known; None: they have none."""
        if not self.has_ids(topic):
            return None
        ids = schema_ids(records)
        if wanted := self.schemas.wanted({*np.unique(ids).tolist()} - {NO_ID}):
            raise SchemasWanted(wanted)
        return ids

    def keeps_apart(self, topic: str) -> bool:
        """Returns True if an encoded partition of a topic is that of one version only."""
        return self.feed.keeps_apart and self.has_ids(topic)

    def has_ids(self, topic: str) -> bool:
        """Returns True if each record of a topic names its schema."""
        return self.feed.format == "avro" and self.schemas.of_topic(topic) is None

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the settings that decide an object's bytes and name."""
        return self._fingerprint(BYTES_SETTINGS, has_zone=True)

    @cached_property
    def folders(self) -> str:
        """Fingerprint of the settings that decide a record's encoded partition."""
        kind = self.feed.partition_by
        return self._fingerprint(FOLDER_SETTINGS[kind], has_zone=kind == "time")

    def _fingerprint(self, names: Iterable[str], *, has_zone: bool) -> str:
        settings = {name: getattr(self.feed, name) for name in names}
        if has_zone:
            settings["zone"] = self.feed.zone.key
        if "format" in settings:
            files = sorted(self.schemas.files.items())
            settings["schemas"] = [(name, hashlib.sha256(text).hexdigest()) for name, text in files]
        text = json.dumps(settings, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def _partitioner(self, place: TopicPartition, incarnation: int) -> WithinLimit:
        longest = self.key(place, "", OFFSET_MAX, incarnation)
        room = KEY_BYTES_MAX - len(f"{longest}/".encode())
        return WithinLimit(self._unlimited(place.topic), room)

    def _unlimited(self, topic: str) -> Partitioner:
        feed, is_avro = self.feed, self.feed.format == "avro"
        match feed.partition_by:
            case "field":
                of_datums = DatumFields(self.schemas, topic)
                return ByField(feed.fields, of_datums if is_avro else field_texts)
            case "time":
                field = None if feed.time_from == FROM_RECORD else feed.time_from
                of_datums = DatumFields(self.schemas, topic, feed.time_unit)
                texts = of_datums if is_avro else field_texts
                return ByTime(feed.folders, feed.zone, field, feed.time_unit, texts)
        return ByPartition()

    @property
    def extension(self) -> str:
        """Extension of new objects, without its dot."""
        return self._kind.extension

    @cached_property
    def _kind(self) -> FileKind:
        return kind_of(self.feed, self.schemas)


def _by_version(folders: Folders, ids: Ints) -> Folders:
    """Returns folders divided by the versions of their records."""
    known, version = np.unique(ids, return_inverse=True)
    both, number = np.unique(folders.number * len(known) + version, return_inverse=True)
    names = [
        versioned(folders.names[folder], int(known[at]))
        for folder, at in zip(*(each.tolist() for each in np.divmod(both, len(known))), strict=True)
    ]
    return Folders(names, number)
