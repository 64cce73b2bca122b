"""Avro datums of the feed cases: values of 200 bytes, with Confluent's header."""

from __future__ import annotations

import io
import random
import struct
from typing import Any

import fastavro

from bench.flights import AIRPORTS, CARRIERS, DOCUMENT_BYTES, SECONDS_OF_DAY
from bench.load import ALPHABET

SCHEMA_ID = 1
HEADER = struct.pack(">bI", 0, SCHEMA_ID)
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "flight",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "carrier", "type": "string"},
        {"name": "origin", "type": "string"},
        {"name": "dest", "type": "string"},
        {"name": "delay", "type": "int"},
        {"name": "price", "type": "double"},
        {"name": "note", "type": "string"},
    ],
}
"""The columns of the tables."""
PARSED = fastavro.parse_schema(SCHEMA)
# A time as a number is read faster than one as a datetime.
_PLAIN = fastavro.parse_schema(
    SCHEMA
    | {
        "fields": [
            each | {"type": "long"} if each["name"] == "at" else each for each in SCHEMA["fields"]
        ]
    }
)
_LENGTH_BYTES = 2
"""Length of a note of 64 to 8191 bytes, where the length of an empty one takes a byte."""


def value(number: int, rng: random.Random) -> bytes:
    """Returns a value of DOCUMENT_BYTES with this number as its id."""
    row = {
        "id": number,
        "at": (SECONDS_OF_DAY + number % 86_400) * 1000,
        "carrier": CARRIERS[number % 6],
        "origin": AIRPORTS[number // 7 % 10],
        "dest": AIRPORTS[number // 77 % 10],
        "delay": number % 240 - 20,
        "price": number % 100_000 / 4,
        "note": "",
    }
    room = DOCUMENT_BYTES - len(_written(row)) + 1 - _LENGTH_BYTES
    row["note"] = bytes(ALPHABET[byte % 62] for byte in rng.randbytes(room)).decode()
    return _written(row)


def row_of(value: bytes) -> dict[str, Any]:
    """Returns the row of a value, with its time in seconds."""
    row: Any = fastavro.schemaless_reader(io.BytesIO(value[len(HEADER) :]), _PLAIN)
    row["at"] //= 1000
    found: dict[str, Any] = row
    return found


def _written(row: dict[str, Any]) -> bytes:
    out = io.BytesIO(HEADER)
    out.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(out, PARSED, row)
    return out.getvalue()
