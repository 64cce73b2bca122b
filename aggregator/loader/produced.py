"""Produced records: their bytes as batches that a topic takes, and dead letters that are cut to
fit. Pure.

Key, value and headers are encoded as they are. Only a dead letter that its topic does not take as a
whole is cut: its own headers then tell the true size and the digest of what was cut.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from aggregator.formats.record_headers import (
    Headers,
    encoded_field,
    encoded_headers,
    encoded_number,
)
from balancer.topic_partition import TopicPartition
from replicator.batches.batch import HEADER_BYTES, sealed

HEADER_PREFIX = "sluice."
"""Prefix of the headers that a dead letter has beside those of its record."""
BATCH_BYTES = 1 << 20
"""Size of batches of several records; just below the default of max.message.bytes."""
MESSAGE_BYTES_MAX = 16 << 20
"""max.message.bytes of the topics of dead letters, as they are made."""
NO_TIME = -1
"""Timestamp of a record without one, to which no limit of a topic applies."""
_FRONT_BYTES_MAX = 5 + 1 + 10 + 5
"""Largest sizes of a record's length, attributes, timestamp delta and offset delta."""
_CUT_BYTES_MAX = 600
"""Room for the headers that tell what was cut."""
_TEXTS = f"{HEADER_PREFIX}table", f"{HEADER_PREFIX}reason"
"""Added headers of any length. All others have a few hundred bytes together."""


class RecordPlace(NamedTuple):
    """Place of a record in the topics of a feed."""

    partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True)
class Produced:
    """Record as it is produced.

    Args:
        timestamp_ms: None: the time at which it is sent.
        of: record that it is the dead letter of; None: it is no dead letter.
        added: number of headers at the end that are not the record's own.
    """

    topic: str
    partition: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    of: RecordPlace | None = None
    added: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a topic, as far as they are known.

    Args:
        batch_bytes: largest batch.
        several_bytes: largest batch of several records.
        records: most records of a batch.
        has_times: False: records are sent without timestamps.
    """

    batch_bytes: int = MESSAGE_BYTES_MAX
    several_bytes: int = BATCH_BYTES
    records: int = 1 << 16
    has_times: bool = True


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """Batch that is not stamped with a producer yet."""

    data: bytearray
    count: int


def packed(records: Sequence[Produced], first: int, limits: Limits, now_ms: int) -> PackedBatch:
    """Returns the batch of the records from an index on: of as many as fit, at least of one.

    Args:
        now_ms: Unix time, of the records without a time of their own.
    """
    size_max = min(limits.several_bytes, limits.batch_bytes) - HEADER_BYTES
    bodies: list[bytes] = []
    times: list[int] = []
    size = 0
    for each in records[first : first + limits.records]:
        fitting = fitted(each, limits.batch_bytes)
        time_ms = now_ms if fitting.timestamp_ms is None else fitting.timestamp_ms
        time_ms = time_ms if limits.has_times else NO_TIME
        delta = time_ms - times[0] if times else 0
        body = b"\0" + encoded_number(delta) + encoded_number(len(bodies)) + _tail(fitting)
        record = encoded_number(len(body)) + body
        if bodies and size + len(record) > size_max:
            break
        bodies.append(record)
        times.append(time_ms)
        size += len(record)
    data = sealed(
        b"".join(bodies),
        codec=0,
        count=len(bodies),
        base_timestamp=times[0],
        max_timestamp=max(times),
    )
    return PackedBatch(data, len(bodies))


def fitted(record: Produced, batch_bytes: int) -> Produced:
    """Returns a dead letter that fits into a batch of this size; other records as they are.

    The value is cut first. Headers are left out as a whole, and the key is cut, if they do not fit;
    so are the table's name and the reason, if they alone do not.
    """
    if record.of is None or _size(record) <= batch_bytes:
        return record
    own = record.headers[: len(record.headers) - record.added]
    added = list(record.headers[len(own) :])
    bare = replace(record, key=b"", value=b"", headers=tuple(added))
    room = batch_bytes - _CUT_BYTES_MAX - _size(bare)
    if room < 0:
        added, room = list(_shortened(added, -room)), 0
    key, value = record.key, record.value
    if key is not None and len(key) > room:
        added += _told("key", key)
        key = key[: max(room, 0)]
    room -= len(key or b"")
    if (size := len(encoded := encoded_headers(own))) > room:
        added += _told("headers", encoded)
        own, size = (), 0
    room -= size
    if value is not None and len(value) > room:
        added += _told("value", value)
        value = value[: max(room, 0)]
    return replace(record, key=key, value=value, headers=(*own, *added), added=len(added))


def _shortened(headers: Sequence[tuple[str, bytes | None]], bytes_over: int) -> Headers:
    """Returns added headers with so many bytes less: the longer one of the texts is halved."""
    found = dict(headers)
    while bytes_over > 0:
        name = max(_TEXTS, key=lambda each: len(found.get(each) or b""))
        text = found.get(name) or b""
        # No character is divided.
        short = text[: max(len(text) - bytes_over, len(text) // 2)].decode(errors="ignore").encode()
        if short == text:
            break
        found[name] = short
        bytes_over -= len(text) - len(short)
    return tuple(found.items())


def _told(name: str, data: bytes) -> Headers:
    """Returns the headers that tell what was cut."""
    digest = hashlib.sha256(data).hexdigest()
    return (
        (f"{HEADER_PREFIX}{name}.bytes", str(len(data)).encode()),
        (f"{HEADER_PREFIX}{name}.sha256", digest.encode()),
    )


def _size(record: Produced) -> int:
    """Returns the size of a batch that has this record alone, some bytes too large."""
    return HEADER_BYTES + _FRONT_BYTES_MAX + len(_tail(record))


def _tail(record: Produced) -> bytes:
    fields = encoded_field(record.key), encoded_field(record.value)
    return b"".join((*fields, encoded_headers(record.headers)))
