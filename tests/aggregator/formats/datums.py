"""Datums for tests: values of Avro schemas, encoded by fastavro, and what tables hold of them."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime, timedelta

import fastavro
import numpy as np
from hypothesis import strategies as st

from aggregator.formats.avro_cursors import Cursors
from aggregator.formats.varint_words import PADDING

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ENUM = {"type": "enum", "name": "letter", "symbols": ["A", "B", "C"]}
FIXED = {"type": "fixed", "name": "three", "size": 3}


def logical(base, logical_type, **more):
    return {"type": base, "logicalType": logical_type, **more}


def same(value):
    return value


def encoded(schema, value):
    """Returns the datum of a value."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return out.getvalue()


def record_of(types, name="row"):
    """Returns the schema of a record with fields f0, f1 ..."""
    fields = [{"name": f"f{at}", "type": _renamed(kind, at)} for at, kind in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields}


def _renamed(kind, at):
    """Returns a type whose names end with a number, as a schema defines no name twice."""
    if isinstance(kind, list):
        return [_renamed(each, at) for each in kind]
    if not isinstance(kind, dict):
        return kind
    renamed = {key: _renamed(each, at) for key, each in kind.items() if key != "symbols"}
    renamed |= {"symbols": kind["symbols"]} if "symbols" in kind else {}
    is_named = kind.get("type") in ("record", "enum", "fixed")
    return renamed | ({"name": f"{kind['name']}{at}"} if is_named else {})


def cursors_over(datums):
    """Returns cursors at the beginnings of datums."""
    octets = np.frombuffer(b"".join(datums) + PADDING, np.uint8)
    limits = np.concatenate(([0], np.cumsum([len(each) for each in datums]))).astype(np.int64)
    return Cursors.over(octets, limits[:-1], limits[1:], np.arange(len(datums)))


def _ticks(scale):
    return lambda moment: (moment - EPOCH) // timedelta(microseconds=1) // 10 ** (6 - scale)


_decimals = st.decimals(1 - 10**7, 10**7 - 1, places=2)
_moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))

SCALARS = [
    # Avro's type, values for fastavro, column's type, what the table holds
    ("boolean", st.booleans(), "UInt8", int),
    ("int", st.integers(-(2**31), 2**31 - 1), "Int32", same),
    ("long", st.integers(-(2**63), 2**63 - 1) | st.integers(-70, 70), "Int64", same),
    ("float", st.floats(width=32, allow_nan=False), "Float32", same),
    ("double", st.floats(allow_nan=False), "Float64", same),
    ("string", st.text(max_size=200), "String", str.encode),
    ("bytes", st.binary(max_size=5), "LowCardinality(String)", same),
    (FIXED, st.binary(min_size=3, max_size=3), "FixedString(3)", same),
    (ENUM, st.sampled_from("ABC"), "String", str.encode),
    (ENUM, st.sampled_from("ABC"), "Enum8('A' = 5, 'B' = -1, 'C' = 0)",
     {"A": 5, "B": -1, "C": 0}.get),
    (logical("int", "date"), st.dates(date(1970, 1, 1), date(2149, 1, 1)), "Date",
     lambda day: (day - date(1970, 1, 1)).days),
    (logical("long", "timestamp-millis"), _moments, "DateTime64(3, 'UTC')", _ticks(3)),
    (logical("long", "timestamp-micros"), _moments, "DateTime64(6)", _ticks(6)),
    (logical("long", "timestamp-nanos"), st.integers(-(2**62), 2**62), "DateTime64(6)",
     lambda nanos: nanos // 1000),
    (logical("long", "time-micros"), st.just((EPOCH + timedelta(seconds=5)).time()), "Int64",
     lambda _: 5_000_000),
    (logical("bytes", "decimal", precision=9, scale=2), _decimals, "Decimal(18, 4)", same),
    (logical("fixed", "decimal", precision=9, scale=2, name="money", size=7), _decimals,
     "Decimal(9, 2)", same),
    (logical("string", "uuid"), st.uuids(), "UUID", lambda number: number.bytes),
]  # fmt: skip


def _fields():
    """Returns a strategy of fields: Avro's type, values, column's type, what the table holds."""
    scalars = st.sampled_from(SCALARS)
    nullable = st.tuples(scalars, st.booleans()).map(lambda drawn: _nullable(*drawn))
    return scalars | nullable | (scalars | nullable).map(_array) | nullable.map(_array).map(_array)


@st.composite
def _nested(draw):
    """Returns a field whose column is a Tuple, a Map, or an Array of these."""
    record = st.lists(fields, min_size=1, max_size=3).map(_record)
    single = record | (fields | record).map(_map)
    return draw(single | single.map(_array))


def _nullable(field, null_first):
    kind, values, column, held = field
    union = ["null", kind] if null_first else [kind, "null"]
    inner = column.removeprefix("LowCardinality(").removesuffix(")") if "Low" in column else column
    return (
        union,
        st.none() | values,
        f"Nullable({inner})",
        lambda value: None if value is None else held(value),
    )


def _array(field):
    kind, values, column, held = field
    return (
        {"type": "array", "items": kind},
        st.lists(values, max_size=4),
        f"Array({column})",
        lambda items: [held(each) for each in items],
    )


def _record(fields):
    names = [f"e{at}" for at in range(len(fields))]
    kinds = [_renamed(field[0], at) for at, field in enumerate(fields)]
    members = [{"name": name, "type": kind} for name, kind in zip(names, kinds, strict=True)]
    columns = [f"{name} {field[2]}" for name, field in zip(names, fields, strict=True)]
    return (
        {"type": "record", "name": "inner", "fields": members},
        st.fixed_dictionaries({name: field[1] for name, field in zip(names, fields, strict=True)}),
        f"Tuple({', '.join(columns)})",
        lambda row: {name: field[3](row[name]) for name, field in zip(names, fields, strict=True)},
    )


def _map(field):
    kind, values, column, held = field
    return (
        {"type": "map", "values": kind},
        st.dictionaries(st.text(max_size=3), values, max_size=3),
        f"Map(String, {column})",
        lambda row: [{"key": key.encode(), "value": held(each)} for key, each in row.items()],
    )


fields = _fields()
nested = _nested()
