"""JSON lines: the documents of records, one on each line.

One record is one document. An object goes onto a line as it is; an array of objects becomes as many
lines. Each line begins with `{`, ends with `}` and holds no newline: a newline between tokens
becomes a tab, and one within a string stays an error. After a `}` inside a document only `,`, `}`
and `]` may follow. So a strict reader of lines reads as many documents as there are lines, or it
finds an error: no document spans two values, and no value holds two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import msgspec
import numpy as np
import pyarrow as pa

from aggregator.formats.byte_columns import taken
from aggregator.formats.record_slice import Ints, RecordSlice
from aggregator.formats.time_texts import Flags
from aggregator.tables.native_block import ROWS_MAX
from aggregator.tables.value_limits import limits_of
from replicator.batches.records import Octets

_NEWLINE, _TAB = 10, 9
_WHITESPACE = np.zeros(256, np.bool_)
_WHITESPACE[list(b" \t\r\n")] = True
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True, eq=False)
class JsonLines:
    """Documents in the order of their records.

    Args:
        lines: each with a newline at its end.
        record: index of the record of each.
        row: number of each in its record.
    """

    lines: pa.BinaryArray
    record: Ints
    row: Ints

    def __len__(self) -> int:
        return len(self.lines)

    def text(self) -> bytes:
        """Returns all lines."""
        limits = limits_of(self.lines)
        data = memoryview(self.lines.buffers()[2] or b"")
        return bytes(data[int(limits[0]) : int(limits[-1])])

    def between(self, first: int, last: int) -> Self:
        """Returns the documents with these indexes, not copied."""
        which = slice(first, last)
        return replace(
            self, lines=self.lines[which], record=self.record[which], row=self.row[which]
        )

    def at(self, which: Ints) -> Self:
        """Returns the documents with these indexes."""
        return replace(
            self,
            lines=self.lines.take(pa.array(which)),
            record=self.record[which],
            row=self.row[which],
        )


def read_json_lines(slices: Sequence[RecordSlice]) -> tuple[JsonLines, dict[int, str]]:
    """Returns the documents of all records, and why records have none, by index.

    Records with null values are left out of both.
    """
    parts, reasons, records = [], {}, 0
    for each in slices:
        part, bad = _of_slice(each)
        parts.append(replace(part, record=part.record + records))
        reasons.update({records + at: reason for at, reason in bad.items()})
        records += len(each)
    if len(parts) == 1:
        return parts[0], reasons
    return joined(parts), reasons


def joined(parts: Sequence[JsonLines]) -> JsonLines:
    """Returns the documents of all parts."""
    return JsonLines(
        pa.concat_arrays([part.lines for part in parts]) if parts else pa.array([], pa.binary()),
        np.concatenate([part.record for part in parts] or [np.empty(0, np.int64)]),
        np.concatenate([part.row for part in parts] or [np.empty(0, np.int64)]),
    )


def _of_slice(records: RecordSlice) -> tuple[JsonLines, dict[int, str]]:
    which = np.flatnonzero(records.value_begin >= 0)
    begin, end = records.value_begin[which], records.value_end[which]
    octets = np.frombuffer(records.data, np.uint8)
    is_object = _has_brackets(octets, begin, end, b"{}")
    if is_object.all():
        return _objects(records, which, begin, end), {}
    begin, end = _trimmed(records.data, octets, begin, end)
    is_object = _has_brackets(octets, begin, end, b"{}")
    objects = _objects(records, which[is_object], begin[is_object], end[is_object])
    arrays, reasons = _arrays(records.data, which[~is_object], begin[~is_object], end[~is_object])
    both = joined((objects, arrays))
    return both.at(np.argsort(both.record, kind="stable")), reasons


def _has_brackets(octets: Octets, begin: Ints, end: Ints, brackets: bytes) -> Flags:
    """Returns True for each value that stands in these brackets."""
    has_room = end - begin >= 2
    at_begin = octets[np.where(has_room, begin, 0)] == brackets[0]
    at_end = octets[np.where(has_room, end - 1, 0)] == brackets[1]
    both: Flags = has_room & at_begin & at_end
    return both


def _objects(records: RecordSlice, which: Ints, begin: Ints, end: Ints) -> JsonLines:
    # A value has one more byte behind it: the number of its record's headers, or white space.
    return JsonLines(_lined(taken(records.data, begin, end + 1)), which, np.zeros_like(which))


def _lined(lines: pa.BinaryArray) -> pa.BinaryArray:
    """Writes a newline over the last byte of each value, in place, and a tab over others."""
    if len(lines):
        octets = np.frombuffer(lines.buffers()[2], np.uint8)
        ends = limits_of(lines)[1:] - 1
        octets[ends] = _NEWLINE
        is_newline = octets == _NEWLINE
        if np.count_nonzero(is_newline) > len(lines):
            octets[is_newline] = _TAB
            octets[ends] = _NEWLINE
    return lines


def _trimmed(data: bytes | memoryview, octets: Octets, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Returns where the values begin and end without the white space around them."""
    begin, end = begin.copy(), end.copy()
    # Seldom more than a line end; what has more takes the long way.
    for _ in range(2):
        end -= (end > begin) & _WHITESPACE[octets[np.maximum(end - 1, 0)]]
    at_begin = (end > begin) & _WHITESPACE[octets[np.minimum(begin, len(octets) - 1)]]
    at_end = (end > begin) & _WHITESPACE[octets[np.maximum(end - 1, 0)]]
    for at in np.flatnonzero(at_begin | at_end).tolist():
        value = bytes(data[int(begin[at]) : int(end[at])])
        left = value.lstrip(b" \t\r\n")
        begin[at] += len(value) - len(left)
        end[at] -= len(left) - len(left.rstrip(b" \t\r\n"))
    return begin, end


def _arrays(
    data: bytes | memoryview, which: Ints, begin: Ints, end: Ints
) -> tuple[JsonLines, dict[int, str]]:
    """Returns the elements of values that are arrays of objects, and why others are not."""
    lines: list[bytes] = []
    rows: list[int] = []
    reasons: dict[int, str] = {}
    for record, left, right in zip(which.tolist(), begin.tolist(), end.tolist(), strict=True):
        elements = _elements(bytes(data[left:right]))
        if isinstance(elements, str):
            reasons[record] = elements
            rows.append(0)
            continue
        rows.append(len(elements))
        lines += elements
    count = np.array(rows, np.int64)
    first = np.repeat(np.cumsum(count) - count, count)
    column = _lined(pa.array(lines, pa.binary()))
    return JsonLines(column, np.repeat(which, count), np.arange(len(lines)) - first), reasons


def _elements(value: bytes) -> list[bytes] | str:
    """Returns the elements of an array, with a byte behind each; or why there are none."""
    if not value.startswith(b"["):
        return "neither an object nor an array of objects" if value else "an empty value"
    try:
        elements = [bytes(element).strip() + b"\n" for element in _ARRAY.decode(value)]
    except (msgspec.DecodeError, RecursionError) as error:
        return f"no JSON: {error}"
    if len(elements) > ROWS_MAX:
        return f"{len(elements)} rows in one record, more than {ROWS_MAX}"
    if not all(element.startswith(b"{") for element in elements):
        return "an array with elements that are no objects"
    return elements
