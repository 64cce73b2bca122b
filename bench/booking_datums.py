"""Avro datums of the object cases: bookings of 200 bytes, with Confluent's header.

A booking is a function of its number, so that a reader knows all fields of each.
"""

from __future__ import annotations

import base64
import hashlib
import io
from typing import Any

import fastavro

from bench.avro_datums import HEADER
from bench.flights import AIRPORTS, CARRIERS, DOCUMENT_BYTES, SECONDS_OF_DAY

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Booking",
    "namespace": "air",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "customer", "type": "string"},
        {"name": "carrier", "type": "string"},
        {"name": "origin", "type": "string"},
        {"name": "dest", "type": "string"},
        {"name": "seats", "type": "int"},
        {"name": "price", "type": "double"},
        {"name": "distance", "type": ["null", "double"], "default": None},
        {"name": "agent", "type": ["null", "string"], "default": None},
        {"name": "is_paid", "type": "boolean"},
        {"name": "note", "type": "string"},
    ],
}
"""Schema of the id in bench.avro_datums.HEADER."""
PARSED = fastavro.parse_schema(SCHEMA)
NOISE_BYTES = 54
"""Bytes of noise, 72 characters of a note: as much as hardly compresses in the other cases."""
TEXT = "; window seat, vegetarian meal, two bags, late arrival, no newsletter, paid by invoice"
_LENGTH_BYTES = 2
"""Length of a note of 64 to 8191 bytes, where the length of an empty one takes a byte."""


def row(number: int) -> dict[str, Any]:
    """Returns the booking of a number; its time is in milliseconds."""
    found = _without_note(number)
    room = DOCUMENT_BYTES - len(_written(found)) + 1 - _LENGTH_BYTES
    noise = hashlib.shake_128(b"%d" % number).digest(NOISE_BYTES)
    return found | {"note": (base64.b64encode(noise).decode() + TEXT)[:room]}


def value(number: int) -> bytes:
    """Returns a value of DOCUMENT_BYTES with this number as its id."""
    return _written(row(number))


def _without_note(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "at": (SECONDS_OF_DAY + number % 86_400) * 1000 + number % 1000,
        "customer": f"customer-{number * 7919 % 10_000_000:07}",
        "carrier": CARRIERS[number % 6],
        "origin": AIRPORTS[number // 7 % 10],
        "dest": AIRPORTS[number // 77 % 10],
        "seats": number % 9 + 1,
        "price": number % 100_000 / 4,
        "distance": number % 5000 / 2 if number % 4 else None,
        "agent": f"agent-{number % 300}" if number % 3 else None,
        "is_paid": number % 5 != 0,
        "note": "",
    }


def _written(booking: dict[str, Any]) -> bytes:
    out = io.BytesIO(HEADER)
    out.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(out, PARSED, booking)
    return out.getvalue()
