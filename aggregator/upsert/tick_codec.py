"""Tick as text: parts that each fit into the metadata of a committed offset.

A tick is JSON, compressed, as base64 and cut. Each part repeats the number of parts, a checksum of
the whole and the transactional id, so that parts of two commits are never taken for one tick.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from aggregator.upsert.tick import ROWS_MAX, TICK_MAX, Lane, LaneRange, Stop, Tick
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

VERSION = 1
VERSION_WITH_GAPS = 2
"""Version of ticks with gaps. A release that knows none would read what was given up."""
VERSION_WITH_EPOCHS = 3
"""Version of ticks with leader epochs. A release that knows none would read what was written in
place of the tick's records."""
PART_BYTES_MAX = 3900
"""Limit of a part; the broker's offset.metadata.max.bytes is 4096 by default."""
PARTS_MAX = 64
"""Most parts of a tick, enough for some 10 000 lanes."""
TICK_BYTES_MAX = 64 << 20
"""Limit of the JSON, which protects a reader from what somebody else has committed."""
_ENVELOPE_BYTES_MAX = 120
"""Bytes of a part beside its data and the transactional id."""


class UnreadableTick(Exception):
    """A tick that this version cannot read. Stop; do not guess where to continue."""


@dataclass(frozen=True, slots=True)
class _Part:
    number: int
    parts: int
    checksum: int
    transactional_id: str
    data: str


def encode(tick: Tick, transactional_id: str) -> list[OffsetAndMetadata]:
    """Returns the parts of a tick as offsets to commit. Raises ValueError if they are too many.

    Args:
        transactional_id: only a transaction of this id may replace the tick.
    """
    text = base64.b64encode(zlib.compress(_json(tick), 9)).decode()
    room = PART_BYTES_MAX - _ENVELOPE_BYTES_MAX - len(json.dumps(transactional_id))
    pieces = [text[at : at + room] for at in range(0, len(text), room)]
    if room < 1 or len(pieces) > PARTS_MAX:
        raise ValueError(f"a tick of {len(tick.lanes)} lanes does not fit into {PARTS_MAX} parts")
    version = VERSION_WITH_GAPS if tick.gaps else VERSION
    if tick.epochs:
        version = VERSION_WITH_EPOCHS
    whole = {"of": len(pieces), "crc": zlib.crc32(text.encode()), "id": transactional_id}
    return [
        OffsetAndMetadata(
            tick.number,
            json.dumps(
                {"v": version, "part": number, **whole, "data": piece}, separators=(",", ":")
            ),
        )
        for number, piece in enumerate(pieces)
    ]


def parts_of(first: OffsetAndMetadata) -> int:
    """Returns how many parts a tick has, from its part 0. Raises UnreadableTick."""
    return _part(first, 0).parts


def id_of(part: OffsetAndMetadata) -> str:
    """Returns the transactional id that a part names. Raises UnreadableTick."""
    return _part(part).transactional_id


def sign_of(part: OffsetAndMetadata, number: int) -> tuple[int, int, int]:
    """Returns (number of parts, number of the tick, checksum), the same for all parts of a commit.

    Raises UnreadableTick.
    """
    found = _part(part, number)
    return found.parts, part.offset, found.checksum


def decode(parts: Mapping[int, OffsetAndMetadata]) -> Tick:
    """Returns the tick of committed offsets.

    Args:
        parts: by number; those that a longer tick of before has left are not looked at.

    Raises:
        UnreadableTick: a part is missing, belongs to another commit, or cannot be read.
    """
    if 0 not in parts:
        raise UnreadableTick("part 0 of the tick is missing: was its committed offset deleted?")
    first = _part(parts[0], 0)
    number = parts[0].offset
    text = ""
    for each in range(first.parts):
        if each not in parts:
            raise UnreadableTick(
                f"part {each} of the {first.parts} parts of tick {number} is missing: was its "
                "committed offset deleted?"
            )
        part = _part(parts[each], each)
        if parts[each].offset != number:
            raise UnreadableTick(
                f"part {each} is of tick {parts[each].offset}, part 0 of tick {number}"
            )
        if (part.parts, part.checksum) != (first.parts, first.checksum):
            raise UnreadableTick(f"part {each} of tick {number} is not of one commit with part 0")
        text += part.data
    if zlib.crc32(text.encode()) != first.checksum:
        raise UnreadableTick(f"the checksum of tick {number} differs from what its parts say")
    try:
        return _tick(number, _fields(text))
    except (ValueError, KeyError, TypeError, IndexError, zlib.error) as error:
        raise UnreadableTick(f"tick {number} cannot be read ({error})") from error


def _part(commit: OffsetAndMetadata, number: int | None = None) -> _Part:
    try:
        fields = json.loads(commit.metadata)
        if fields["v"] not in (VERSION, VERSION_WITH_GAPS, VERSION_WITH_EPOCHS):
            raise ValueError(
                f"version {fields['v']}, this release reads {VERSION} to {VERSION_WITH_EPOCHS}"
            )
        found = _Part(
            _int(fields["part"]),
            _int(fields["of"]),
            _int(fields["crc"]),
            _text(fields["id"]),
            _text(fields["data"]),
        )
        if number is not None and found.number != number:
            raise ValueError(f"it says that it is part {found.number}")
        if not 0 <= found.number < found.parts <= PARTS_MAX:
            raise ValueError(f"part of {found.parts}")
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableTick(
            f"{'a part' if number is None else f'part {number}'} of tick {commit.offset} cannot be "
            f"read ({error}): "
            f"{commit.metadata[:120]!r}; was it written by a newer version, or by something else "
            "under our group's name?"
        ) from error
    return found


def _json(tick: Tick) -> bytes:
    topics: dict[tuple[str, str, UUID], int] = {}
    lanes = [
        [topics.setdefault((each.cluster, each.topic, each.topic_id), len(topics)), each.partition]
        for each in tick.lanes
    ]
    fields: dict[str, Any] = {
        "generation": tick.generation,
        "time_ms": tick.time_ms,
        "rows_per_record": tick.rows_per_record,
        "block_rows": tick.block_rows,
        "topics": [[cluster, topic, topic_id.hex] for cluster, topic, topic_id in topics],
        "lanes": lanes,
        "ranges": [[each.begin, each.end - each.begin] for each in tick.ranges],
        "stops": _stops(tick.stops),
    }
    if tick.gaps:
        fields["gaps"] = _stops(tick.gaps)
    if tick.epochs:
        fields["epochs"] = tick.epochs
    return json.dumps(fields, separators=(",", ":")).encode()


def _stops(stops: Iterable[Stop]) -> list[list[Any]]:
    return [
        [lane, loss.kind.name, loss.begin, loss.end, loss.detail, is_accepted]
        for lane, loss, is_accepted in stops
    ]


def _fields(text: str) -> Any:
    try:
        packed = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(packed, TICK_BYTES_MAX)
    if not unpacking.eof:
        raise ValueError(f"it has more than {TICK_BYTES_MAX} bytes, or is cut")
    return json.loads(content)


def _tick(number: int, fields: Mapping[str, Any]) -> Tick:
    topics = [
        (_text(cluster), _text(topic), UUID(hex=_text(topic_id)))
        for cluster, topic, topic_id in fields["topics"]
    ]
    lanes = [
        Lane(*topics[_natural(topic)], _natural(partition)) for topic, partition in fields["lanes"]
    ]
    pairs = [(_natural(begin), _natural(length)) for begin, length in fields["ranges"]]
    tick = Tick(
        generation=_natural(fields["generation"]),
        number=number,
        time_ms=_natural(fields["time_ms"]),
        lanes=tuple(lanes),
        ranges=tuple(LaneRange(begin, begin + length) for begin, length in pairs),
        rows_per_record=_natural(fields["rows_per_record"]),
        block_rows=_natural(fields["block_rows"]),
        stops=tuple(_stop(*each) for each in fields["stops"]),
        gaps=tuple(_stop(*each) for each in fields.get("gaps", ())),
        epochs=tuple(_epoch(each) for each in fields.get("epochs", ())),
    )
    if not 0 <= number <= TICK_MAX:
        raise ValueError(f"ticks are numbered up to {TICK_MAX}")
    if len(tick.lanes) != len(tick.ranges) or len(set(tick.lanes)) != len(tick.lanes):
        raise ValueError(f"{len(tick.ranges)} ranges of {len(set(tick.lanes))} different lanes")
    if tick.epochs and len(tick.epochs) != len(tick.lanes):
        raise ValueError(f"{len(tick.epochs)} leader epochs of {len(tick.lanes)} lanes")
    if any(each.lane >= len(tick.lanes) for each in (*tick.stops, *tick.gaps)):
        raise ValueError("a lane is stopped that the tick does not have")
    if not tick.rows_per_record or not tick.block_rows or tick.row_numbers > ROWS_MAX:
        raise ValueError(f"{tick.row_numbers} rows, in blocks of {tick.block_rows}")
    return tick


def _stop(lane: Any, kind: Any, begin: Any, end: Any, detail: Any, is_accepted: Any) -> Stop:
    last = None if end is None else _natural(end)
    loss = Loss(LossKind[_text(kind)], _natural(begin), last, _text(detail))
    return Stop(_natural(lane), loss, bool(_natural(int(is_accepted))))


def _int(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} is no integer")
    return value


def _natural(value: Any) -> int:
    if _int(value) < 0:
        raise ValueError(f"{value} is below 0")
    return int(value)


def _epoch(value: Any) -> int:
    if _int(value) < -1:
        raise ValueError(f"{value} is no leader epoch")
    return int(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
