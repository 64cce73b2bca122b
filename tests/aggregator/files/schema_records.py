"""Records for tests that hold values of Avro schemas, behind headers that name these."""

from __future__ import annotations

import json
from typing import Any

from aggregator.files.admission import Admission, Admitted
from aggregator.files.file_writer import FileWriter
from aggregator.formats.record_slice import RecordSlice
from aggregator.schemas.known_schemas import KnownSchemas
from tests.aggregator.formats.datums import encoded

FIRST = {
    "type": "record",
    "name": "Row",
    "namespace": "some.where",
    "fields": [{"name": "number", "type": "int"}, {"name": "text", "type": ["null", "string"]}],
}
SECOND = {
    **FIRST,
    "fields": [
        {"name": "more", "type": ["null", "string"], "default": None},
        {"name": "number", "type": "long"},
        {"name": "text", "type": ["null", "string"]},
    ],
}
OTHER = {"type": "record", "name": "Other", "fields": [{"name": "number", "type": "int"}]}
SCHEMAS = {1: FIRST, 2: SECOND, 3: OTHER}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", {"type": "record", "name": "Row", "fields": [
            {"name": "id", "type": "int"}]}], "default": None},
        {"name": "after", "type": ["null", "Row"], "default": None},
        {"name": "source", "type": {"type": "record", "name": "Source", "fields": [
            {"name": "version", "type": "string"}]}},
    ],
}  # fmt: skip
LISTED = {"type": "record", "name": "List", "fields": [{"name": "next", "type": ["null", "List"]}]}
"""Schema that is part of itself, with the id 4."""
KNOWN = KnownSchemas(
    {f"{at}.avsc": json.dumps(each).encode() for at, each in {**SCHEMAS, 4: LISTED}.items()}
    | {"plain.avsc": json.dumps(FIRST).encode()}
)


def row(number: int) -> dict[str, Any]:
    """Returns the value of a record, with the fields of all schemas."""
    text = None if number % 3 == 0 else f"é{number}" * (number % 5)
    return {"number": number, "text": text, "more": f"more {number}"}


def value(number: int, schema_id: int) -> bytes:
    """Returns the value with its header."""
    return b"\0" + schema_id.to_bytes(4, "big") + encoded(SCHEMAS[schema_id], row(number))


def admitted(writer: FileWriter, records: RecordSlice) -> Admitted:
    """Returns the records for a file."""
    return Admission(decode=writer.decode)(records)


def file_of(writer: FileWriter, *parts: RecordSlice) -> bytes:
    """Returns the file of records that come in so."""
    found = [writer.write([admitted(writer, part).records]) for part in parts]
    return b"".join([*found, writer.finish()])
