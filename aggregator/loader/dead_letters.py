"""Dead letters: records that cannot be loaded, produced in the transaction of the intent that names
their block. So each is there exactly once, with one exception.

A block whose table was altered before it could be stored is decoded again, by the new columns. If a
successor does that, it produces all dead letters of the block: some may be there already.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from aggregator.formats.record_headers import Headers, encoded_headers
from aggregator.formats.record_slice import RecordSlice
from aggregator.loader.draft import Draft
from aggregator.loader.produced import HEADER_PREFIX, Produced, RecordPlace
from aggregator.tables.decoded import DeadRecord, Decoded
from balancer.topic_partition import TopicPartition
from replicator.config.names import dead_letter_topic

PARTITIONS = 4
"""Partitions of a feed's topic of dead letters."""
LETTERS_BYTES_MAX = 64 << 20
"""Most bytes of the dead letters of a block: their transaction has to end in time."""
LETTER_BYTES = 300
"""Bytes that a dead letter adds to those of its record, roughly."""
TEXT_CHARACTERS_MAX = 1000
"""Longest text of a header: the table's name may come from a record."""
NUMBER_DIGITS_MAX = 19
FIRST_ADDED = f"{HEADER_PREFIX}cluster"
"""First of the headers behind those of the record; the record may be a letter itself."""


class LetterPlace(NamedTuple):
    """Record that a dead letter is of.

    Args:
        incarnation: of the log that the record is of.
        table: that the record would be in.
    """

    partition: TopicPartition
    offset: int
    incarnation: int
    table: str


def dead_letters(
    feed: str,
    place: TopicPartition,
    cluster: str,
    table: str,
    slices: Sequence[RecordSlice],
    dead: Iterable[DeadRecord],
    incarnation: int = 0,
) -> list[Produced]:
    """Returns the dead letters of a block, with their coordinates and reasons as headers.

    Args:
        incarnation: of the partition's log; the first one is not named.
    """
    reasons = {each.offset: each.reason for each in dead}
    offsets = np.array(list(reasons), np.int64)
    found: list[Produced] = []
    if not reasons:
        return found
    for part in slices:
        for at in np.flatnonzero(np.isin(part.offset, offsets)).tolist():
            offset = int(part.offset[at])
            record = DeadRecord(offset, reasons[offset])
            time_ms = int(part.timestamp_ms[at])
            headers = added_by_us(cluster, place, table, record, time_ms, incarnation)
            found.append(
                Produced(
                    dead_letter_topic(feed),
                    place.partition % PARTITIONS,
                    # Its own: that of its record may be one that the topic refuses, or deletes.
                    None,
                    part.key_at(at),
                    part.value_at(at),
                    (*part.headers_at(at), *headers),
                    of=RecordPlace(place, offset),
                    added=len(headers),
                )
            )
    return found


def added_by_us(
    cluster: str,
    place: TopicPartition,
    table: str,
    record: DeadRecord,
    time_ms: int | None = None,
    incarnation: int = 0,
) -> Headers:
    """Returns the headers that a dead letter has behind those of its record.

    Args:
        time_ms: timestamp of the record; None: not known.
        incarnation: see dead_letters().
    """
    added = {
        "cluster": cluster,
        "topic": place.topic,
        "partition": str(place.partition),
        "offset": str(record.offset),
        "timestamp": None if time_ms is None else str(time_ms),
        "table": table[:TEXT_CHARACTERS_MAX],
        "reason": record.reason[:TEXT_CHARACTERS_MAX],
        "incarnation": str(incarnation) if incarnation else None,
    }
    return tuple(
        (f"{HEADER_PREFIX}{key}", text.encode(errors="replace"))
        for key, text in added.items()
        if text is not None
    )


def added_headers(headers: Headers) -> tuple[int, dict[str, str]] | None:
    """Returns the index of the first header that a record has as a dead letter, and all of them;
    None if it is no dead letter."""
    names = [name for name, _ in headers]
    if FIRST_ADDED not in names:
        return None
    first = len(names) - 1 - names[::-1].index(FIRST_ADDED)
    return first, {name: (text or b"").decode(errors="replace") for name, text in headers[first:]}


def letter_place(headers: Headers) -> LetterPlace | None:
    """Returns the record that a letter is of; None if it is no dead letter."""
    if (found := added_headers(headers)) is None:
        return None
    topic, number, offset, log, table = (
        found[1].get(f"{HEADER_PREFIX}{name}", "")
        for name in ("topic", "partition", "offset", "incarnation", "table")
    )
    partition_number, record_offset = number_in(number), number_in(offset)
    if partition_number is None or record_offset is None:
        return None
    place = TopicPartition(topic, partition_number)
    return LetterPlace(place, record_offset, number_in(log) or 0, table)


def record_digest(key: bytes | None, value: bytes | None, headers: Headers) -> bytes:
    """Returns a digest of the record that a letter is of, whether the letter has it whole or cut:
    of its time, key, headers and value. Empty if it is no dead letter.

    A log that was cut can have another record at the offset, under the same incarnation.

    Args:
        headers: of the letter.
    """
    if (found := added_headers(headers)) is None:
        return b""
    first, told = found
    parts = {"key": key, "headers": encoded_headers(headers[:first]), "value": value}
    digests = [
        told.get(f"{HEADER_PREFIX}{name}.sha256")
        or ("" if part is None else hashlib.sha256(part).hexdigest())
        for name, part in parts.items()
    ]
    time_ms = told.get(f"{HEADER_PREFIX}timestamp", "")
    return hashlib.sha256(" ".join((time_ms, *digests)).encode()).digest()


def number_in(text: str) -> int | None:
    """Returns the number that a header of a letter has; None if it is none, or has more than 19
    digits. Anybody who may write to the topic can write any text."""
    return int(text) if text.isdecimal() and len(text) <= NUMBER_DIGITS_MAX else None


def first_beyond(
    slices: Sequence[RecordSlice], dead: Iterable[DeadRecord], bytes_max: int = LETTERS_BYTES_MAX
) -> int | None:
    """Returns the offset of the first record whose dead letter is too much for one transaction;
    None if all of them fit. One letter always does."""
    offsets, size, count = np.array([each.offset for each in dead], np.int64), 0, 0
    for part in slices if len(offsets) else ():
        at = np.flatnonzero(np.isin(part.offset, offsets))
        sizes = size + np.cumsum(part.record_bytes[at] + LETTER_BYTES)
        beyond = np.flatnonzero((sizes > bytes_max) & (np.arange(len(at)) + count > 0))
        if len(beyond):
            return int(part.offset[at[beyond[0]]])
        size, count = int(sizes[-1]) if len(at) else size, count + len(at)
    return None


def all_dead(draft: Draft[RecordSlice]) -> Decoded:
    """Returns the records of a table that does not exist: all of them are dead letters."""
    named = f"there is no table {draft.table!r}" if draft.table else "no header names its table"
    offsets = (offset for part in draft.slices for offset in part.offset.tolist())
    return Decoded(dead=tuple(DeadRecord(offset, named) for offset in offsets))
