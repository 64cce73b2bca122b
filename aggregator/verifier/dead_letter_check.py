"""Dead letter check: compares the dead letters of a feed with the records that they are of.

Key, value and headers are compared byte for byte, or by size and digest where they were cut. A
letter need not be told from another one of the same record: one of them has to be right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from aggregator.formats.record_headers import Headers, encoded_headers
from aggregator.formats.record_slice import Ints, RecordSlice
from aggregator.loader.dead_letters import PARTITIONS, added_headers, letter_place, number_in
from aggregator.loader.produced import HEADER_PREFIX
from aggregator.verifier.row_digest import ranges
from aggregator.verifier.topic_records import TopicRecords
from balancer.topic_partition import TopicPartition
from replicator.batches.varints import BrokenVarints
from replicator.config.names import dead_letter_topic
from replicator.kafka.client.cluster import Cluster

TIME = f"{HEADER_PREFIX}timestamp"
OFFSET_MAX = (1 << 63) - 1
CONTENT_BYTES = 16


class FieldDigest(NamedTuple):
    """Size and SHA-256 of a field; -1 and "" for null."""

    size_bytes: int
    sha256: str


class LetterFields(NamedTuple):
    """Fields of a record, as it is or as its dead letter tells them. All letters of a feed are in
    memory, so that a digest stands for the fields.

    Args:
        content: digest of key, value and headers.
        timestamp_ms: None: the letter does not tell it, as those of older versions.
        incarnation: of the log that a letter is of; records are of the log that is compared.
    """

    content: bytes
    timestamp_ms: int | None
    incarnation: int = 0

    @classmethod
    def of(
        cls, fields: Iterable[FieldDigest], timestamp_ms: int | None, incarnation: int = 0
    ) -> LetterFields:
        """Returns what is kept of these fields: key, value and headers."""
        text = "\n".join(f"{each.size_bytes} {each.sha256}" for each in fields)
        content = hashlib.blake2b(text.encode(), digest_size=CONTENT_BYTES).digest()
        return cls(content, timestamp_ms, incarnation)

    def is_of(self, record: LetterFields) -> bool:
        """Returns True if a letter with these fields is of the record."""
        is_same = self.content == record.content
        return is_same and self.timestamp_ms in (None, record.timestamp_ms)


def record_fields(records: RecordSlice, at: int) -> LetterFields:
    """Returns the fields of one record."""
    headers = bytes(records.data[int(records.headers_begin[at]) : int(records.headers_end[at])])
    fields = records.key_at(at), records.value_at(at), headers
    return LetterFields.of(map(_digest, fields), int(records.timestamp_ms[at]))


def letter_fields(
    key: bytes | None, value: bytes | None, headers: Headers
) -> tuple[TopicPartition, int, LetterFields] | None:
    """Returns the record that a letter names, and the fields that it tells of it; None if it is no
    dead letter."""
    told, place = added_headers(headers), letter_place(headers)
    if told is None or place is None:
        return None
    first, added = told
    time = added.get(TIME, "")
    time_ms = number_in(time.removeprefix("-"))
    digests = (
        _told(added, "key") or _digest(key),
        _told(added, "value") or _digest(value),
        _told(added, "headers") or _digest(encoded_headers(headers[:first])),
    )
    fields = LetterFields.of(
        digests,
        None if time_ms is None else int(time),
        place.incarnation,
    )
    return place.partition, place.offset, fields


@dataclass(slots=True)
class Letters:
    """Committed dead letters of a feed.

    Args:
        of: letters of each record, by its partition and offset.
        is_whole: the topic still has its first letter.
    """

    of: dict[TopicPartition, dict[int, tuple[LetterFields, ...]]] = field(default_factory=dict)
    is_whole: bool = True

    def add(self, place: TopicPartition, offset: int, letter: LetterFields) -> None:
        """Adds a letter of a record."""
        own = self.of.setdefault(place, {})
        own[offset] = (*own.get(offset, ()), letter)

    def offsets(self, place: TopicPartition, begin: int, end: int, incarnation: int = 0) -> Ints:
        """Returns the offsets of a range that have letters, ascending."""
        found = (
            offset
            for offset, some in self.of.get(place, {}).items()
            if begin <= offset < end and any(each.incarnation == incarnation for each in some)
        )
        return np.array(sorted(found), np.int64)

    def count(self, place: TopicPartition) -> int:
        """Returns the number of letters of a partition's records, in all its logs."""
        return sum(map(len, self.of.get(place, {}).values()))


class LetterCount(NamedTuple):
    """Difference of the letters of some records; the texts name offsets."""

    missing: int = 0
    doubled: int = 0
    changed: int = 0
    examples: tuple[str, ...] = ()


def compared(
    letters: Letters,
    place: TopicPartition,
    records: Mapping[int, LetterFields | None],
    incarnation: int = 0,
) -> LetterCount:
    """Compares the letters of records that have to be dead letters with these.

    Args:
        records: by offset; None where only the number of letters is compared.
        incarnation: of the partition's log.
    """
    own = letters.of.get(place, {})
    found: dict[str, list[int]] = {"missing": [], "doubled": [], "changed": []}
    for offset, record in records.items():
        some = [each for each in own.get(offset, ()) if each.incarnation == incarnation]
        if not some:
            found["missing"].append(offset)
        if len(some) > 1:
            found["doubled"].append(offset)
        if some and record is not None and not any(each.is_of(record) for each in some):
            found["changed"].append(offset)
    examples = tuple(
        f"{what} among the dead letters: partition {place.partition}, offsets "
        f"{ranges(np.array(offsets, np.int64))}"
        for what, offsets in found.items()
        if offsets
    )
    missing, doubled, changed = map(len, found.values())
    return LetterCount(missing, doubled, changed, examples)


def uncounted(letters: Letters, place: TopicPartition, counted: int) -> int:
    """Returns how many of the letters that a partition's intent counts are not in the topic."""
    return max(0, counted - letters.count(place))


async def read_letters(cluster: Cluster, records: TopicRecords, feed: str) -> Letters:
    """Returns all letters of a feed. None of them is left out by its time: those of older versions
    have that of their record.

    Raises:
        NotRead, Unreachable, Answered: the topic cannot be read.
    """
    topic, found = dead_letter_topic(feed), Letters()
    if cluster.topic(topic) is None:
        return found
    for partition in range(PARTITIONS):
        begin = await cluster.log_start(topic, partition)
        found.is_whole = found.is_whole and begin == 0
        async for part in records.slices(topic, partition, begin, OFFSET_MAX):
            for at in range(len(part)):
                try:
                    headers = part.headers_at(at)
                except BrokenVarints:
                    continue
                told = letter_fields(part.key_at(at), part.value_at(at), headers)
                if told is not None:
                    place, offset, fields = told
                    found.add(place, offset, fields)
    return found


def _told(added: Mapping[str, str], name: str) -> FieldDigest | None:
    """Returns what the headers of a letter tell of a field that was cut."""
    size_bytes = number_in(added.get(f"{HEADER_PREFIX}{name}.bytes", ""))
    digest = added.get(f"{HEADER_PREFIX}{name}.sha256", "")
    return None if size_bytes is None else FieldDigest(size_bytes, digest)


def _digest(data: bytes | None) -> FieldDigest:
    if data is None:
        return FieldDigest(-1, "")
    return FieldDigest(len(data), hashlib.sha256(data).hexdigest())
