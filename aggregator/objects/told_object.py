"""Told object: a complete object of a feed, as the topic sluice.objects.<feed> has it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from sys import intern

from aggregator.intents.table_range import Manifest
from balancer.topic_partition import TopicPartition


class UnreadableObject(Exception):
    """A record of the topic that this version cannot read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldObject:
    """Object that is complete in the store, or a range without a record for one.

    Args:
        key: in the bucket.
        begin, end: offsets of its first record, and behind its last one.
        records: read for the object; `left_out` of them are not in it.
        first_ms, last_ms: least and greatest timestamp of its records; -1: none has one.
        encoded_partition: as intents name it; empty where an earlier version told of the object.
        layout: fingerprint of the settings that decided which records are in its folder; empty
            where it is not known.
        incarnation: of the log that its records are of (see Intent).
        sealed_at_ms, told_at_ms: Unix times.
    """

    key: str
    cluster: str
    topic: str
    partition: int
    begin: int
    end: int
    records: int
    left_out: int
    size_bytes: int
    crc32c: int
    first_ms: int
    last_ms: int
    schema: str
    digest: str
    sealed_at_ms: int
    told_at_ms: int
    layout: str = ""
    encoded_partition: str = ""
    incarnation: int = 0

    @property
    def is_empty(self) -> bool:
        """True if no record of the range is in an object: none was written under the key."""
        return self.left_out == self.records

    @property
    def folder(self) -> str:
        """Folder of the key."""
        return self.key.rpartition("/")[0]

    @classmethod
    def of(
        cls,
        key: str,
        cluster: str,
        place: TopicPartition,
        manifest: Manifest,
        *,
        layout: str,
        told_at_ms: int,
        encoded_partition: str = "",
        incarnation: int = 0,
    ) -> ToldObject:
        """Returns the object of a manifest."""
        return cls(
            key=key,
            cluster=cluster,
            topic=place.topic,
            partition=place.partition,
            begin=manifest.sealed_begin,
            end=manifest.sealed_end,
            records=manifest.records,
            left_out=manifest.left_out,
            size_bytes=0 if manifest.is_empty else manifest.size_bytes,
            crc32c=0 if manifest.is_empty else manifest.crc32c,
            first_ms=manifest.first_ms,
            last_ms=manifest.last_ms,
            schema=manifest.schema,
            digest=manifest.digest,
            sealed_at_ms=manifest.sealed_at_ms,
            told_at_ms=told_at_ms,
            layout=layout,
            encoded_partition=encoded_partition,
            incarnation=incarnation,
        )

    def encode(self) -> bytes:
        """Returns the value of the record; its key is the object's."""
        told = asdict(self)
        del told["key"]
        return json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode()


_FIELDS = {each.name for each in fields(ToldObject)} - {"key"}
_SHARED = ("cluster", "topic", "schema", "layout", "encoded_partition")
"""Fields of which many objects have the same text, which is in memory once."""


def decode(key: bytes, value: bytes) -> ToldObject:
    """Returns the object of a record. Raises UnreadableObject."""
    try:
        found = json.loads(value)
        # A newer version may tell more.
        known = {name: value for name, value in dict(found).items() if name in _FIELDS}
        known |= {name: intern(known[name]) for name in _SHARED if name in known}
        return ToldObject(key=key.decode(), **known)
    except (ValueError, TypeError) as error:
        text = f"the record of {key!r} cannot be read ({error}); was it written by a newer version?"
        raise UnreadableObject(text) from error
