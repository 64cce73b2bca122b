"""Settings of a [feeds.<name>] table with kind = "s3": topics into objects of an S3 store."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import time
from typing import Annotated, Any, Literal, get_args
from zoneinfo import ZoneInfo

import re2
from pydantic import AfterValidator, BeforeValidator, Field, InstanceOf, Strict

from replicator.config.addresses import StoreUrl
from replicator.config.feed_settings import OWN_TOPIC_PREFIXES, Feed, some
from replicator.config.schema_folder import SchemaFolder
from replicator.config.schema_source import RegistryUrl, fields_named, read_source
from replicator.config.security import ReadableFile, SecretFile
from replicator.config.settings import Float, Int, Patterns, re2_options
from replicator.config.store_credentials import CredentialsFile

CLUSTER = "{cluster}"
"""Place in a prefix for the cluster's name."""
BUCKET = re.compile(r"(?!.*\.\.)(?!([0-9]+\.){3}[0-9]+$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
SAFE = re.compile(r"[A-Za-z0-9!_.*'()=-]")
"""Characters of folders: those that S3 calls safe in keys, and that of name=value."""
DIRECTIVES = "YmdHM"
"""Directives of strftime that folders may have."""
ObjectFile = Literal["parquet", "avro", "json_lines", "bytes"]
"""Kind of file that objects are."""
CODECS = {
    "parquet": ("none", "gzip", "snappy", "zstd", "lz4"),
    "json_lines": ("none", "gzip", "zstd", "lz4"),
    "bytes": ("none", "gzip", "zstd", "lz4"),
    "avro": ("none", "deflate", "snappy", "zstd"),
}
"""Codecs by format of the file."""
RecordColumn = Literal["key", "headers", "timestamp", "topic", "partition", "offset"]
"""Column of a record beside its value."""
RECORD_COLUMNS: tuple[RecordColumn, ...] = get_args(RecordColumn)
VALUES_ONLY = ("json_lines", "bytes")
"""Formats of files that have neither columns nor a schema."""
FROM_RECORD = "record"
"""Source of a time that is the record's timestamp."""
NO_VALUE_BYTES = 26
"""Length of what a folder has in place of a value."""
FOLDERS_BYTES_MAX = 270
"""Room in a key for folders without values, whatever the prefix and the topic."""
OPEN_PART = 0.5
"""Part of a loader's memory that open objects may take; the rest is for what was fetched."""
TAGS = ("startOffset", "endOffset", "recordCount")
"""Tags of each object; the names of Confluent's sink. endOffset is that of the last record."""
OWN_TAGS_MAX = 10 - len(TAGS)
_TAG = re.compile(r"[\w .:/=+@-]+")
_DIRECTIVE = re.compile(r"%(.?)")
_FIELD = re.compile(r'[^"\\.\x00-\x1f]+(\.[^"\\.\x00-\x1f]+)*')


def zone_of(value: Any) -> Any:
    """Returns the zone of a name; raises ValueError for one that is not known."""
    if isinstance(value, ZoneInfo):
        return value
    try:
        return ZoneInfo(value if isinstance(value, str) else "")
    except (KeyError, ValueError, OSError):
        raise ValueError("no known time zone; it is named such as Europe/Berlin") from None


def time_of_day(value: Any) -> Any:
    """Returns a time of day, as a text or of TOML's own; raises ValueError for anything else."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{2}:[0-9]{2}(:[0-9]{2})?", value):
        with suppress(ValueError):
            return time.fromisoformat(value)
    if isinstance(value, time) and value.tzinfo is None:
        return value
    raise ValueError('should be a time of day such as "06:00", in the zone that `zone` names')


def none_for_zero(value: Any) -> Any:
    """Returns a limit; None for 0, which is none."""
    return None if value == 0 and not isinstance(value, bool) else value


def valid_bucket(name: str) -> str:
    """Returns the name of a bucket; raises ValueError for anything else."""
    if not BUCKET.fullmatch(name):
        raise ValueError("a bucket's name is 3 to 63 lower-case letters, digits, - and single .")
    return name


def valid_folders(pattern: str) -> str:
    """Returns a pattern of time folders; raises ValueError if it is none."""
    known = ", ".join(f"%{each}" for each in DIRECTIVES)
    found = _DIRECTIVE.findall(pattern)
    if unknown := sorted({each for each in found if not each or each not in DIRECTIVES}):
        raise ValueError(f"%{unknown[0]} is none of {known}")
    if not found:
        raise ValueError("names no part of a time, such as %Y")
    names = []
    for folder in pattern.split("/"):
        name, _, value = folder.partition("=")
        if not name or not value or "=" in value or "%" in name:
            raise ValueError(f"{folder!r} is no folder of the form name=value, such as year=%Y")
        names.append(name)
    if len(set(names)) < len(names):
        raise ValueError("has two folders of the same name")
    _raise_unless_safe(_DIRECTIVE.sub("", pattern))
    return pattern


def valid_prefix(text: str) -> str:
    """Returns a prefix of keys; raises ValueError for one that no reader would find."""
    folders = text.split("/") if text else []
    if not all(folders):
        raise ValueError("has a slash at an end, or two in a row")
    # A store that keeps its objects as files takes them for other folders.
    if {".", ".."} & set(folders):
        raise ValueError("has a folder . or ..")
    _raise_unless_safe(text.replace(CLUSTER, ""))
    return text


def valid_field(path: str) -> str:
    """Returns the name of a field; raises ValueError if it is none."""
    if not _FIELD.fullmatch(path):
        raise ValueError("no name of a field; it is one such as carrier, or from.city")
    return path


def valid_tags(tags: dict[str, str]) -> dict[str, str]:
    """Returns tags of objects; raises ValueError if a store would refuse them."""
    if len(tags) > OWN_TAGS_MAX:
        raise ValueError(f"are {len(tags)}; beside the three of Sluice there may be {OWN_TAGS_MAX}")
    for name, value in tags.items():
        if name in TAGS or name.lower().startswith("aws:"):
            raise ValueError(f"{name} is a name that others give")
        if not _TAG.fullmatch(name) or len(name) > 128:
            raise ValueError(f"{name!r} is no name of a tag: 1 to 128 letters, digits, _.:/=+-@")
        if not _TAG.fullmatch(value or "-") or len(value) > 256:
            text = f"{name} has {value!r}; a value is at most 256 letters, digits, _.:/=+-@"
            raise ValueError(text)
    return tags


def _raise_unless_safe(text: str) -> None:
    for character in text.replace("/", ""):
        if not SAFE.fullmatch(character):
            raise ValueError(f"{character!r} is not safe in keys; letters, digits, !_.*'()=- are")


UNKNOWN_SCHEMA_SECONDS = 10.0
Zone = Annotated[InstanceOf[ZoneInfo], BeforeValidator(zone_of)]
TimesOfDay = tuple[Annotated[time, BeforeValidator(time_of_day)], ...]
Records = Annotated[Annotated[Int, Field(ge=1)] | None, BeforeValidator(none_for_zero)]
Mib = Annotated[Annotated[Float, Field(ge=0.001, le=50_000)] | None, BeforeValidator(none_for_zero)]
Seconds = Annotated[Annotated[Float, Field(ge=0.1)] | None, BeforeValidator(none_for_zero)]
FieldPath = Annotated[str, Field(max_length=100), AfterValidator(valid_field)]
Text = Annotated[str, Field(min_length=1, max_length=200)]
Schemas = Annotated[
    InstanceOf[SchemaFolder] | InstanceOf[RegistryUrl], BeforeValidator(read_source)
]


class ObjectFeed(Feed):
    """Feed into objects of an S3 store."""

    kind: Literal["s3"]
    topics: Annotated[Patterns, AfterValidator(some)] = (".*",)
    """RE2 patterns of whole topic names: a topic is taken when one of these matches it ..."""
    deny: Patterns = ()
    """... and none of these does."""
    bucket: Annotated[str, AfterValidator(valid_bucket)]
    prefix: Annotated[str, Field(max_length=200), AfterValidator(valid_prefix)] = "topics"
    """Folders above those of the topics; {cluster} stands for the cluster's name."""
    endpoint: StoreUrl | None = None
    """URL of the store; without it AWS."""
    store_region: Text = "us-east-1"
    path_style: Annotated[bool, Strict()] = False
    """The bucket is part of the path, not of the host name."""
    ca_file: ReadableFile | None = None
    """PEM certificates that sign the store's own."""
    credentials_file: CredentialsFile | None = None
    """File with the keys of the store's account; without it boto3 finds them."""
    owner: Text | None = None
    """Account that has to own the bucket."""
    storage_class: Text | None = None
    encryption: Literal["AES256", "aws:kms"] | None = None
    """Encryption by the store; without it as the bucket says."""
    encryption_key: Text | None = None
    """Key of KMS that encrypts; without it the account's own for S3."""
    file: ObjectFile = "parquet"
    """Format of the objects. json_lines and bytes hold values only."""
    codec: Literal["none", "gzip", "deflate", "snappy", "zstd", "lz4"] = "zstd"
    format: Literal["bytes", "json", "avro"] = "bytes"
    """Format of the values. With json and avro the fields of a value are columns of Parquet files;
    Avro files take values in Avro."""
    schemas: Schemas | None = None
    """Avro schemas of the values: a file, a folder (<id>.avsc, <topic>.avsc), or a registry."""
    registry_user: Text | None = None
    registry_password_file: SecretFile | None = None
    registry_ca_file: ReadableFile | None = None
    """PEM certificates that sign the registry's own."""
    unknown_schema_seconds: Annotated[Float, Field(ge=0.0)] = UNKNOWN_SCHEMA_SECONDS
    """Time for which a partition waits for a schema that the registry does not know, before its
    records become dead letters. A registry that follows another learns it late."""
    compatibility: Literal["apart", "none", "backward", "forward", "full"] = "apart"
    """Records of several schemas: apart in objects of their own, or together. Together an object
    ends at the first record that cannot become one of its schema."""
    record_columns: tuple[RecordColumn, ...] | None = None
    """Columns, or fields, of the record beside those of its value. Without it Parquet files have
    all of them, and Avro files none."""
    check_datums: Annotated[bool, Strict()] = True
    """Datums for Avro files are looked at: one that is cut would spoil a whole block."""
    separator: str = "\n"
    """Text behind each value of a file of bytes."""
    tombstones: Literal["written", "left_out", "dead_letters"] = "written"
    """Way of records with null values. json_lines writes `null`; bytes leave them out."""
    partition_by: Literal["partition", "field", "time"] = "partition"
    """Folders below a topic's: partition=<number>, name=value of fields, or time folders."""
    fields: Annotated[tuple[FieldPath, ...], Field(max_length=8)] = ()
    """Fields of JSON documents, or of Avro records, that name the folders; from.city is within
    from."""
    time_from: FieldPath = FROM_RECORD
    """Time of time folders: the record's timestamp, or the field of a value."""
    time_unit: Literal["s", "ms", "us"] = "ms"
    """Unit of such a field where it is a number."""
    folders: Annotated[str, Field(max_length=200), AfterValidator(valid_folders)] = (
        "year=%Y/month=%m/day=%d/hour=%H"
    )
    tagging: Annotated[bool, Strict()] = False
    """Objects get the tags startOffset, endOffset and recordCount once they are complete."""
    tags: Annotated[dict[str, str], Field(default_factory=dict), AfterValidator(valid_tags)]
    """Further tags."""
    zone: Zone = ZoneInfo("UTC")
    """Zone of time folders and of times of day."""
    object_records: Records = None
    """An object ends with so many records ..."""
    object_mib: Mib = 128.0
    """... or MiB of keys, values and headers ..."""
    object_interval_seconds: Seconds = None
    """... or before a record that is so much younger than its first one ..."""
    object_age_seconds: Seconds = 600.0
    """... or so long after its first record was read; without a limit each is None, in the file 0
    ..."""
    object_times: TimesOfDay = ()
    """... or at these times of day, in `zone`."""
    held_back_records: Records = None
    """The object that holds back the committed offset ends once so many offsets are read behind it,
    then the next one; None, in the file 0: no limit."""
    part_mib: Annotated[Float, Field(ge=5, le=5000)] = 25.0
    """Size of the parts that are uploaded before an object is complete."""
    offset_digits: Annotated[Int, Field(ge=1, le=19)] = 10
    """Digits to which the offset in an object's name is padded."""
    epoch_seconds: Annotated[Float, Field(ge=1, le=604_800)] = 86_400.0
    """Length of a loader's epoch; open objects begin anew with the next one."""

    @property
    def keeps_apart(self) -> bool:
        """True if records of each schema have objects of their own."""
        return self.format == "avro" and self.compatibility == "apart"

    @property
    def reads_datums(self) -> bool:
        """True if fields of Avro values decide the folders."""
        by_time = self.partition_by == "time" and self.time_from != FROM_RECORD
        return self.format == "avro" and (by_time or self.partition_by == "field")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the record beside its value."""
        if self.record_columns is None:
            return RECORD_COLUMNS if self.file == "parquet" else ()
        return tuple(each for each in RECORD_COLUMNS if each in self.record_columns)

    def prefix_of(self, cluster: str) -> str:
        """Returns the prefix of a cluster's objects."""
        return prefix_of(self.prefix, cluster)

    @property
    def patterns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.topics, self.deny

    def takes(self, topic: str) -> bool:
        """Returns True if a topic belongs to the feed."""
        if topic.startswith(OWN_TOPIC_PREFIXES):
            return False
        options = re2_options()
        denied = any(re2.fullmatch(pattern, topic, options) for pattern in self.deny)
        return not denied and any(re2.fullmatch(each, topic, options) for each in self.topics)

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        yield from super()._contradictions()
        if self.shards:
            yield "shards", 'has no meaning with kind = "s3"; remove it'
        if self.tables:
            yield "tables", 'has no meaning with kind = "s3"; remove it'
        if self.dead_letters == "stop":
            yield "dead_letters", '"stop" is for tables; with kind = "s3" it is "topic"'
        if self.codec not in CODECS[self.file]:
            known = ", ".join(CODECS[self.file])
            yield "codec", f"a file of {self.file} takes no {self.codec}; known: {known}"
        yield from self._folder_contradictions()
        yield from self._schema_contradictions()
        if len(self.clusters) > 1 and CLUSTER not in self.prefix:
            text = "needs {cluster}: objects of several clusters would have the same names"
            yield "prefix", text
        if self.ca_file and self.endpoint and self.endpoint.startswith("http://"):
            yield "ca_file", "has no meaning with http://; use https://, or remove it"
        if self.tags and not self.tagging:
            yield "tags", "have no meaning without tagging = true"
        if self.encryption_key and self.encryption != "aws:kms":
            yield "encryption_key", 'has no meaning without encryption = "aws:kms"'
        limits = (
            self.object_records,
            self.object_mib,
            self.object_interval_seconds,
            self.object_age_seconds,
        )
        if not any(limits) and not self.object_times:
            yield "object_age_seconds", "an object would never end: set one of the limits"

    def _schema_contradictions(self) -> Iterator[tuple[str, str]]:
        is_registry = isinstance(self.schemas, RegistryUrl)
        if self.file in VALUES_ONLY:
            if self.format != "bytes":
                text = f"has no meaning with a file of {self.file}, which takes values as they are"
                yield "format", f"{text}; remove it"
            if self.record_columns:
                text = f"a file of {self.file} holds values only; remove it"
                yield "record_columns", text
        if self.file == "avro" and self.format != "avro":
            yield "format", 'must be "avro" with file = "avro": datums become blocks as they are'
        if self.format == "bytes" and self.schemas is not None:
            yield "schemas", 'has no meaning with format = "bytes"; remove it'
        if self.format != "bytes" and self.schemas is None:
            yield "schemas", f'is missing; format = "{self.format}" needs it'
        if self.format == "json" and is_registry:
            text = "JSON documents name no schema: set a file, or a folder of <topic>.avsc"
            yield "schemas", text
        has_versions = self.format == "avro" and not (
            isinstance(self.schemas, SchemaFolder) and self.schemas.is_single
        )
        if self.compatibility != "apart" and not has_versions:
            yield "compatibility", "has no meaning without records that name their schema"
        for key in ("registry_user", "registry_password_file", "registry_ca_file"):
            if getattr(self, key) is not None and not is_registry:
                yield key, "has no meaning without a registry in schemas"
        if self.unknown_schema_seconds != UNKNOWN_SCHEMA_SECONDS and not is_registry:
            yield "unknown_schema_seconds", "has no meaning without a registry in schemas"
        if (self.registry_user is None) != (self.registry_password_file is None):
            yield "registry_user", "goes with registry_password_file: set both, or none"
        if not self.check_datums and self.file != "avro":
            yield "check_datums", 'has no meaning without file = "avro"'
        if self.record_columns and len(set(self.record_columns)) < len(self.record_columns):
            yield "record_columns", "name a column twice"
        is_typed = self.format != "bytes" and self.file == "parquet"
        if is_typed and not self.columns and self.tombstones == "written":
            text = "with no record_columns the row of a tombstone would hold nothing"
            yield "tombstones", f"{text}; set another way, or record_columns"
        for file, name in fields_named(self.schemas, self.columns):
            text = f"{name} is a field of {file}: leave it out, so that no name is there twice"
            yield "record_columns", text
            break

    def _folder_contradictions(self) -> Iterator[tuple[str, str]]:
        by_field, by_time = (self.partition_by == each for each in ("field", "time"))
        if bool(self.fields) != by_field:
            yield "fields", 'go with partition_by = "field": set both, or none'
        if self.time_from != FROM_RECORD and not by_time:
            yield "time_from", 'has no meaning without partition_by = "time"'
        if len(set(self.fields)) < len(self.fields):
            yield "fields", "name a field twice"
        names = self.fields if by_field else ()
        if by_time:
            names = tuple(each.partition("=")[0] for each in self.folders.split("/"))
        columns = {*self.columns, *(("value",) if self.format == "bytes" else ())}
        if self.file not in VALUES_ONLY and (found := sorted(columns.intersection(names))):
            key = "fields" if by_field else "folders"
            yield key, f"{found[0]} is a column of the files already"
        # Escapes take three bytes for one.
        room = sum(3 * len(name.encode()) + len("=/") + NO_VALUE_BYTES for name in names)
        if room > FOLDERS_BYTES_MAX:
            key = "fields" if by_field else "folders"
            yield key, f"are too long by {room - FOLDERS_BYTES_MAX} bytes for the longest topic"


def prefix_of(pattern: str, cluster: str) -> str:
    """Returns the prefix of a cluster's objects.

    Args:
        pattern: with {cluster}, or without.
    """
    return pattern.replace(CLUSTER, cluster.replace(" ", "-"))
