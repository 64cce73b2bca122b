"""Flights of the feed cases: columns, values of fields, and documents that name the fields."""

from __future__ import annotations

import random

from bench.load import ALPHABET

DOCUMENT_BYTES = 200
SECONDS_OF_DAY = 1_763_942_400
"""Beginning of 2025-11-24."""
COLUMNS = (
    "id UInt64, at DateTime, carrier String, origin String, dest String, delay Int32, "
    "price Float64, note String"
)
"""Columns of each table, which the documents fill."""
KIND = "kind"
"""Field of a document that names its table; the header `table` has the same name."""

AIRPORTS = ("ATL", "BOS", "EWR", "IAH", "JFK", "LAX", "LGA", "MIA", "ORD", "SFO")
CARRIERS = ("AA", "B6", "DL", "EV", "UA", "WN")


def document(number: int, rng: random.Random, table: str = "") -> bytes:
    """Returns a JSON document of DOCUMENT_BYTES with this number as its id.

    Args:
        table: named by the document's field KIND; empty: by no field.
    """
    seconds = number % 86_400
    at = f"2026-11-24 {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    kind = f'"{KIND}":"{table}",' if table else ""
    head = (
        f'{{{kind}"id":{number},"at":"{at}","carrier":"{CARRIERS[number % 6]}",'
        f'"origin":"{AIRPORTS[number // 7 % 10]}","dest":"{AIRPORTS[number // 77 % 10]}",'
        f'"delay":{number % 240 - 20},"price":{number % 100_000 / 4},"note":"'
    ).encode()
    room = DOCUMENT_BYTES - len(head) - 2
    return head + bytes(ALPHABET[byte % 62] for byte in rng.randbytes(room)) + b'"}'
