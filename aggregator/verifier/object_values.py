"""Object values: the rows of a stored object against its records, by second readers. Pure.

Nothing but the opening of fetched records and the look-up of schemas is shared with the writers of
files (decision 0068).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, assert_never

from aggregator.formats.record_headers import read_headers
from aggregator.formats.record_slice import RecordSlice
from aggregator.loader.object_layout import ObjectLayout
from aggregator.verifier.plain_files import container_rows, parquet_rows, plain_stream
from aggregator.verifier.plain_schema import (
    PlainSchema,
    Refused,
    Unsure,
    is_same_scalar,
    json_document,
)

DIFFERENCES_MAX = 3
"""Differences of an object that are told."""
_HEADER_BYTES = 5
_END = object()


@dataclass(frozen=True, slots=True)
class PlainRecord:
    """Record of an object, read field by field.

    Args:
        headers: names and values; None: those of the record were not asked for.
    """

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] | None


class ObjectValues:
    """Comparison of one object.

    Args:
        place: topic and partition.
        content: the object's bytes.
        extension: of its name.
    """

    def __init__(
        self, layout: ObjectLayout, place: tuple[str, int], content: bytes, extension: str
    ) -> None:
        self._layout, self._place = layout, place
        self._columns = layout.feed.columns
        self._content, self._extension = content, extension
        self._embedded: Any = None
        self._written: PlainSchema | None = None
        self.differences: list[str] = []
        self.unread = 0
        """Records whose values the second reader could not read, or is not sure about."""

    def compare(self, records: RecordSlice) -> None:
        """Compares further records of the object, in their order, with its next rows."""
        for record in self._records(records):
            if len(self.differences) == DIFFERENCES_MAX:
                return
            try:
                text = self._difference(record)
            except (Refused, _UnreadableRow) as error:
                text = str(error)
            except Unsure:
                self.unread += 1
                continue
            if text:
                self.differences.append(f"offset {record.offset}: {text}")

    def finish(self) -> None:
        """Looks for rows behind those of all records."""
        try:
            is_over = bool(self.differences) or self._next() is _END
        except _UnreadableRow as error:
            self.differences.append(str(error))
            return
        if not is_over:
            self.differences.append("a row behind those of its records")

    def _records(self, records: RecordSlice) -> Iterator[PlainRecord]:
        data = memoryview(records.data)
        is_with_headers = "headers" in self._columns

        def field(begin: int, end: int) -> bytes | None:
            return bytes(data[begin:end]) if begin >= 0 else None

        for at in range(len(records)):
            key = field(int(records.key_begin[at]), int(records.key_end[at]))
            value = field(int(records.value_begin[at]), int(records.value_end[at]))
            headers = field(int(records.headers_begin[at]), int(records.headers_end[at])) or b"\0"
            yield PlainRecord(
                int(records.offset[at]),
                int(records.timestamp_ms[at]),
                key,
                value,
                read_headers(headers) if is_with_headers else None,
            )

    def _difference(self, record: PlainRecord) -> str:
        """Returns how the next row differs from a record; "" if it does not.

        Raises:
            Refused: the record should have been a dead letter.
            Unsure: nobody knows here.
        """
        feed = self._layout.feed
        if feed.file == "bytes":
            return self._difference_of_bytes(record.value or b"")
        row = self._next()
        if row is _END:
            return "no row is left in the file"
        match feed.file:
            case "json_lines":
                return _difference_of_lines(record.value, row)
            case "avro":
                return self._difference_of_datums(record, row)
            case "parquet" if feed.format == "bytes":
                found = {**self._fields(record), "value": record.value}
                return _first_difference(found, row)
            case "parquet":
                return self._difference_of_columns(record, row)
        assert_never(feed.file)

    def _next(self) -> Any:
        """Returns the next row of the file; _END behind the last one."""
        try:
            return next(self._rows, _END)
        except MemoryError:
            raise
        except Exception as error:  # each library raises what its code happens to raise
            raise _UnreadableRow(f"the file cannot be read: {error!r:.200}") from error

    @cached_property
    def _stream(self) -> Any:
        return plain_stream(self._content, self._extension)

    @cached_property
    def _rows(self) -> Iterator[Any]:
        file = self._layout.feed.file
        match file:
            case "parquet":
                return parquet_rows(self._content)
            case "avro":
                self._embedded, rows = container_rows(self._content)
                return rows
            case "json_lines":
                return iter(self._stream)
            case "bytes":  # values are read by their lengths: a byte behind them is a row
                return iter(partial(self._stream.read, 1), b"")
        assert_never(file)

    def _difference_of_bytes(self, value: bytes) -> str:
        wanted = value + self._layout.feed.separator.encode()
        try:
            found = self._stream.read(len(wanted))
        except (OSError, EOFError) as error:
            raise _UnreadableRow(f"the file cannot be read: {error!r:.200}") from error
        return "" if found == wanted else _told("the value", value, found)

    def _difference_of_datums(self, record: PlainRecord, row: Any) -> str:
        found = self._value(record)
        if found is None:
            return "a tombstone has a datum"
        raw, schema, is_resolved = found
        if self._has_other_schema:
            return "the file has another schema than its first record"
        if not self._columns:
            is_same = _is_same_raw(raw, row, is_single=is_resolved and schema.has_singles)
            return "" if is_same else _told("the value", raw, row)
        wanted = {**raw, **self._fields(record, is_container=True)}
        return _first_difference(wanted, row, is_single=is_resolved and schema.has_singles)

    @cached_property
    def _has_other_schema(self) -> bool:
        """True if a container's schema is not that of its first record."""
        assert self._written is not None, "its value was read"
        found = self._embedded
        if self._columns and isinstance(found, dict):
            found = {**found, "fields": found["fields"][: -len(self._columns)]}
        return bool(PlainSchema(json.dumps(found)).described != self._written.described)

    def _difference_of_columns(self, record: PlainRecord, row: Mapping[str, Any]) -> str:
        values = {name: each for name, each in row.items() if name not in self._columns}
        fields = {name: row.get(name) for name in self._columns}
        if text := _first_difference(self._fields(record), fields):
            return text
        found = self._value(record)
        if found is None:
            kept = next((name for name, each in values.items() if each is not None), None)
            return "" if kept is None else f"a tombstone has a value of {kept}"
        raw, schema, _ = found
        if not schema.is_record:
            raw, kinds = {"value": raw}, {"value": schema.kind}
        else:
            kinds = {each["name"]: each["type"] for each in schema.kind["fields"]}
        if values.keys() != kinds.keys():
            return f"the file has the columns {', '.join(values)}"
        for name, kind in kinds.items():
            if not schema.is_same(kind, raw[name], values[name]):
                return _told(name, raw[name], values[name])
        return ""

    def _value(self, record: PlainRecord) -> tuple[Any, PlainSchema, bool] | None:
        """Returns the raw value of a record in the schema of the file, this schema, and True if
        another one has written it; None for a tombstone.

        Raises Refused or Unsure.
        """
        value = record.value
        if value is None:
            return None
        known, topic = self._layout.schemas, self._place[0]
        found = known.of_topic(topic)
        if found is None:
            if value[:1] != b"\0" or len(value) < _HEADER_BYTES:
                raise Refused("its value names no schema")
            found = known.of_id(int.from_bytes(value[1:_HEADER_BYTES], "big"))
            value = value[_HEADER_BYTES:]
        if found is None:
            raise Refused("nobody knows its schema")
        try:
            written = _plain(found.text)
            if self._written is None:
                # The first value decides the schema of the file.
                self._written = written
            schema = self._written
            if self._layout.feed.format == "json":
                return schema.document(json_document(value)), schema, False
            return written.datum(value, schema), schema, written is not schema
        except (MemoryError, Refused, Unsure):
            raise
        except Exception as error:  # each library raises what its code happens to raise
            raise Unsure(str(error)) from error

    def _fields(self, record: PlainRecord, *, is_container: bool = False) -> dict[str, Any]:
        """Returns the record's own columns.

        Args:
            is_container: times are milliseconds, as a container has them.
        """
        time = record.timestamp_ms * (1 if is_container else 10**6)
        found: dict[str, Any] = {
            "key": record.key,
            "headers": [
                {"name": _with_replacements(name), "value": value}
                for name, value in record.headers or ()
            ],
            "timestamp": time if record.timestamp_ms != -1 else None,
            "topic": self._place[0],
            "partition": self._place[1],
            "offset": record.offset,
        }
        return {name: found[name] for name in self._columns}


class _UnreadableRow(ValueError):
    """A row that no reader of the file's format can read."""


@lru_cache(maxsize=256)
def _plain(text: bytes) -> PlainSchema:
    return PlainSchema(text)


def _difference_of_lines(value: bytes | None, line: bytes) -> str:
    # Line breaks between the parts of a document are spaces in the file.
    wanted = b"null" if value is None else value
    if line == wanted + b"\n" or _parts(wanted) == _parts(line):
        return ""
    return _told("the value", wanted, line)


def _parts(document: bytes) -> Any:
    """Returns a document with the texts of its numbers, and all of its fields in their order."""
    try:
        return json.loads(
            document,
            object_pairs_hook=lambda pairs: ("object", pairs),
            parse_int=lambda text: ("number", text),
            parse_float=lambda text: ("number", text),
        )
    except ValueError as error:
        raise Refused(f"no JSON: {error}") from None


def _first_difference(
    wanted: Mapping[str, Any], row: Mapping[str, Any], *, is_single: bool = False
) -> str:
    if wanted.keys() != row.keys():
        return f"the file has the columns {', '.join(row)}"
    for name, each in wanted.items():
        if not _is_same_raw(each, row[name], is_single=is_single):
            return _told(name, each, row[name])
    return ""


def _is_same_raw(wanted: Any, stored: Any, *, is_single: bool = False) -> bool:
    """Returns True if two raw values are the same.

    Args:
        is_single: floats may have been rounded to 32 bits, as the file's schema has such.
    """
    if isinstance(wanted, dict) and isinstance(stored, dict):
        return wanted.keys() == stored.keys() and all(
            _is_same_raw(each, stored[name], is_single=is_single) for name, each in wanted.items()
        )
    if isinstance(wanted, list) and isinstance(stored, list):
        pairs = zip(wanted, stored, strict=False)
        return len(wanted) == len(stored) and all(
            _is_same_raw(*pair, is_single=is_single) for pair in pairs
        )
    if wanted is None or stored is None:
        return wanted is stored
    return is_same_scalar(wanted, stored) or (
        is_single and is_same_scalar(wanted, stored, is_single=True)
    )


def _with_replacements(name: str) -> str:
    """Returns the name of a header with U+FFFD for what is not UTF-8."""
    return name.encode(errors="surrogateescape").decode(errors="replace")


def _told(what: str, wanted: Any, stored: Any) -> str:
    return f"{what}: the record has {wanted!r:.60}, and the file {stored!r:.60}"
