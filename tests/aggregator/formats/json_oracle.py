"""JSON documents decoded one at a time in plain Python: the oracle of the columnar decoder."""

from __future__ import annotations

import json
import math

from tests.aggregator.formats.slices import table

TYPES = {
    "number": "UInt64",
    "small": "Int8",
    "flag": "UInt8",
    "text": "String",
    "real": "Nullable(Float64)",
    "list": "Array(Int32)",
    "texts": "Array(Nullable(String))",
    "kind": "LowCardinality(String)",
}
NULLABLE = ("real",)
SCHEMA = table(**TYPES)
NAMES = [*TYPES, "unknown", "number2"]


class Dead(Exception):
    """The record cannot be loaded."""


def first_of_each(pairs):
    return dict(reversed(pairs))


def refuse(_):
    raise Dead


def real(text):
    return float(text) if math.isfinite(float(text)) else refuse(text)


def is_int(value, least, most):
    return type(value) is int and least <= value <= most


CHECKS = {
    "number": lambda value: is_int(value, 0, 2**64 - 1),
    "small": lambda value: is_int(value, -128, 127),
    "flag": lambda value: type(value) is bool or is_int(value, 0, 255),
    "text": lambda value: type(value) is str,
    "real": lambda value: type(value) in (int, float),
    "list": lambda value: (
        type(value) is list and all(is_int(x, -(2**31), 2**31 - 1) for x in value)
    ),
    "texts": lambda value: type(value) is list and all(x is None or type(x) is str for x in value),
    "kind": lambda value: type(value) is str,
}


def naive(value):
    """Returns the rows of one record's value, as dicts without what is missing."""
    try:
        text = value.decode()
        found = json.loads(
            text, object_pairs_hook=first_of_each, parse_constant=refuse, parse_float=real
        )
        json.dumps(found, ensure_ascii=False).encode()
    except ValueError as error:
        raise Dead from error
    rows = found if isinstance(found, list) else [found]
    if not all(type(row) is dict for row in rows):
        raise Dead
    for row in rows:
        for name, is_right in CHECKS.items():
            if (
                name in row
                and not (row[name] is None and name in NULLABLE)
                and (row[name] is None or not is_right(row[name]))
            ):
                raise Dead
    return [
        {name: stored(name, row[name]) for name in CHECKS if row.get(name) is not None}
        for row in rows
    ]


def stored(name, value):
    """Returns a value as the column keeps it: Float64 has no integers above 2**53."""
    return float(value) if name == "real" else value


def expected(values, first=0):
    rows, dead = [], []
    for offset, value in enumerate(values, first):
        if value is None:
            continue
        try:
            rows += [(offset, number, row) for number, row in enumerate(naive(value))]
        except Dead:
            dead.append(offset)
    return rows, dead


def text_of(value):
    if isinstance(value, bytes):
        return value.decode()
    return [text_of(each) for each in value] if isinstance(value, list) else value


def found(decoded):
    """Returns rows and offsets of dead records."""
    columns = {name: values.to_pylist() for name, values in decoded.columns.items()}
    rows = [
        (
            int(decoded.offset[at]),
            int(decoded.row[at]),
            {
                name: text_of(values[at])
                for name, values in columns.items()
                if values[at] is not None
            },
        )
        for at in range(len(decoded))
    ]
    return rows, [each.offset for each in decoded.dead]
