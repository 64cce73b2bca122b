"""Facts about a tick's rows: what decides which row of a key is the newest, without the values.

Tasks that read records yield facts as Arrow batches of the schema FACTS, and so does a bootstrap
from the store. Among them are notes: counts and dead letters of the lanes, for the driver.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec
import pyarrow as pa

KEY_BYTES = 16
"""Length of a key's hash."""

FACTS = pa.schema(
    [
        pa.field("key", pa.binary(), nullable=False),
        pa.field("order", pa.int64(), nullable=False),
        pa.field("lane", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("row_id", pa.int64(), nullable=False),
        pa.field("is_delete", pa.bool_(), nullable=False),
        pa.field("note", pa.binary()),
    ]
)
"""Columns of facts: the hash of the key, then those of a Version.

A row with a note is no version of a key: its key is the number of the lane in 4 bytes, big-endian,
and its order the number of the tick.
"""


class LaneNote(msgspec.Struct, frozen=True, array_like=True):
    """Counts and dead letters of a lane's range, or of a part of it.

    Args:
        lane: number of the input partition.
        rows: facts that came of the range.
        expired: records older than the retention, which were left out.
        future: records too far ahead of the tick's time; each is a dead letter too.
        letters: offsets of dead letters, and why each is one.
    """

    lane: int
    rows: int = 0
    expired: int = 0
    future: int = 0
    letters: tuple[tuple[int, str], ...] = ()


def note_batch(tick: int, notes: Iterable[LaneNote]) -> pa.RecordBatch:
    """Returns the notes of a tick as facts."""
    rows = [
        {
            "key": note.lane.to_bytes(4, "big"),
            "order": tick,
            "lane": 0,
            "offset": 0,
            "row": 0,
            "row_id": 0,
            "is_delete": False,
            "note": msgspec.json.encode(note),
        }
        for note in notes
    ]
    return pa.RecordBatch.from_pylist(rows, schema=FACTS)


def notes_by_lane(encoded: Iterable[bytes]) -> tuple[LaneNote, ...]:
    """Returns one note for each lane, in order of the lanes.

    The range of a lane may have been read in parts, each of which has a note.

    Args:
        encoded: the column `note` of facts.
    """
    parts: defaultdict[int, list[LaneNote]] = defaultdict(list)
    for each in encoded:
        note = msgspec.json.decode(each, type=LaneNote)
        parts[note.lane].append(note)
    return tuple(_sum(lane, parts[lane]) for lane in sorted(parts))


def _sum(lane: int, notes: list[LaneNote]) -> LaneNote:
    return LaneNote(
        lane,
        sum(note.rows for note in notes),
        sum(note.expired for note in notes),
        sum(note.future for note in notes),
        tuple(sorted(letter for note in notes for letter in note.letters)),
    )
