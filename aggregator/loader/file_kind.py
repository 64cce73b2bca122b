"""File kind: the files that a feed's objects are, by its settings `file` and `format`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, assert_never

from aggregator.files.admission import Check
from aggregator.files.avro_file import AvroFile
from aggregator.files.compression import STREAMS, SUFFIXES
from aggregator.files.datum_columns import DatumColumns
from aggregator.files.document_columns import DocumentColumns
from aggregator.files.file_writer import FileWriter
from aggregator.files.line_file import LineFile, separated, write_json_lines
from aggregator.files.parquet_file import ParquetFile
from aggregator.files.record_columns import REPEATING, record_table, schema_of
from aggregator.files.typed_parquet import Decoder, TypedParquet
from aggregator.formats.json_flaws import json_flaws
from aggregator.formats.record_schema import Schemas
from balancer.topic_partition import TopicPartition
from replicator.config.object_feed import ObjectFeed


def kind_of(feed: ObjectFeed, schemas: Schemas) -> FileKind:
    """Returns the kind of a feed's files.

    Args:
        schemas: of the values.
    """
    match feed.file:
        case "parquet" if feed.format == "bytes":
            return RecordParquet(feed, schemas)
        case "parquet":
            return FieldParquet(feed, schemas)
        case "avro":
            return AvroContainers(feed, schemas)
        case "json_lines":
            return JsonLines(feed, schemas)
        case "bytes":
            return SeparatedValues(feed, schemas)
    assert_never(feed.file)


@dataclass(frozen=True)
class FileKind(ABC):
    """Kind of the files of one feed."""

    feed: ObjectFeed
    schemas: Schemas

    checks: ClassVar[tuple[Check, ...]] = ()
    """Why records cannot be in such a file, whatever their schemas are."""
    has_nulls: ClassVar[bool] = True
    """False where a null value has no place in a file."""

    @property
    @abstractmethod
    def extension(self) -> str:
        """Extension of the files' names, without its dot."""

    @abstractmethod
    def writer(self, place: TopicPartition, key: str) -> FileWriter:
        """Returns the writer of a new file.

        Args:
            key: of its object.
        """


class RecordParquet(FileKind):
    """Parquet files with a record's value as one column."""

    @property
    def extension(self) -> str:
        return _parquet_extension(self.feed.codec)

    def writer(self, place: TopicPartition, key: str) -> FileWriter:
        names = (*self.feed.columns, "value")
        table = partial(record_table, topic=place.topic, partition=place.partition, names=names)
        return ParquetFile(schema_of(names), table, self.feed.codec, dictionaries=REPEATING)


class FieldParquet(FileKind):
    """Parquet files with a column for each field of the values."""

    @property
    def extension(self) -> str:
        return _parquet_extension(self.feed.codec)

    def writer(self, place: TopicPartition, key: str) -> FileWriter:
        of_values = DatumColumns if self.feed.format == "avro" else DocumentColumns
        decoder: Decoder = of_values(self.schemas, place.topic)
        return TypedParquet(decoder, *place, columns=self.feed.columns, codec=self.feed.codec)


class AvroContainers(FileKind):
    """Avro files of datums. Their codec is that of blocks within the file."""

    # A schema seldom has a null.
    has_nulls = False
    extension = "avro"

    def writer(self, place: TopicPartition, key: str) -> FileWriter:
        return AvroFile(
            self.schemas,
            *place,
            columns=self.feed.columns,
            codec=self.feed.codec,
            key=key,
            is_checking=self.feed.check_datums,
        )


class JsonLines(FileKind):
    """Files with a JSON document on each line."""

    checks = (json_flaws,)

    @property
    def extension(self) -> str:
        return f"json{SUFFIXES[self.feed.codec]}"

    def writer(self, place: TopicPartition, key: str) -> FileWriter:
        return LineFile(write_json_lines, STREAMS[self.feed.codec]())


class SeparatedValues(FileKind):
    """Files of values as they are, each with a separator behind it."""

    # A null would not differ from an empty value.
    has_nulls = False

    @property
    def extension(self) -> str:
        return f"bin{SUFFIXES[self.feed.codec]}"

    def writer(self, place: TopicPartition, key: str) -> FileWriter:
        lines = partial(separated, separator=self.feed.separator.encode())
        return LineFile(lines, STREAMS[self.feed.codec]())


def _parquet_extension(codec: str) -> str:
    return "parquet" if codec == "none" else f"{codec}.parquet"
