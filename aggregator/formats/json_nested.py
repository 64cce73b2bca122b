"""JSON's nested values: the columns of documents that hold Tuples or Maps.

Documents of a table with such a column are read once more, by Python's parser, and the scalars in
them by the reader of columns: as documents of one field. So a scalar means the same at any depth.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa

from aggregator.formats.column_values import column_values, reason
from aggregator.formats.json_depth import too_deep
from aggregator.formats.json_lines import JsonLines
from aggregator.formats.json_nulls import TOO_DEEP
from aggregator.formats.json_numbers import exact_numbers
from aggregator.formats.json_reader import JsonReader
from aggregator.formats.nested_values import MISSING, NestedValues, placed
from aggregator.tables.column_type import ColumnType

_FIELD = "value"


class _Number(str):
    """Text of a number."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


_DECODER = json.JSONDecoder(
    object_pairs_hook=_first_of_each, parse_int=_Number, parse_float=_Number
)


def tuple_columns(
    documents: pa.BinaryArray, types: Mapping[str, ColumnType], timezone: str
) -> tuple[dict[str, pa.Array], dict[int, str]]:
    """Returns columns, null where a document has no such field, and why documents are refused, by
    index.

    Args:
        documents: that a reader has read.
        types: of the columns, by name.
        timezone: of the server.
    """
    refused = dict.fromkeys(too_deep(documents), TOO_DEEP)
    found = [
        {} if at in refused else _DECODER.decode(text.decode())
        for at, text in enumerate(documents.to_pylist())
    ]
    values = NestedValues(partial(_scalars, timezone))
    rows = np.arange(len(found))
    columns = {
        name: values.read(name, kind, [each.get(name, MISSING) for each in found], rows)
        for name, kind in types.items()
    }
    held = {name: each for name, each in columns.items() if each.null_count < len(each)}
    return held, {**values.reasons, **refused}


def _scalars(
    timezone: str, path: str, kind: ColumnType, given: Sequence[Any]
) -> tuple[pa.Array, dict[int, str]]:
    is_key = [kind.is_key and _is_text(each) for each in given]
    parts: list[tuple[list[int], pa.Array]] = []
    refused: dict[int, str] = {}
    # Keys of objects are texts, whatever they stand for.
    for read, wanted in (_keys, True), (_documents, False):
        which = [at for at, each in enumerate(is_key) if each == wanted]
        if which:
            values, bad = read(timezone, path, kind, [given[at] for at in which])
            parts.append((which, values))
            refused.update({which[at]: why for at, why in bad.items()})
    return placed(kind, parts, len(given)), refused


def _keys(
    timezone: str, path: str, kind: ColumnType, given: Sequence[str]
) -> tuple[pa.Array, dict[int, str]]:
    texts = pa.array(given, pa.large_string())
    values, bad = column_values(kind, texts, timezone)
    return values, {at: reason(path, kind, texts, at) for at in np.flatnonzero(bad).tolist()}


def _documents(
    timezone: str, path: str, kind: ColumnType, given: Sequence[Any]
) -> tuple[pa.Array, dict[int, str]]:
    lines = [b'{"%s":%s}\n' % (_FIELD.encode(), _written(each)) for each in given]
    count = np.arange(len(given))
    documents = JsonLines(pa.array(lines, pa.binary()), count, np.zeros_like(count))
    read = _reader(kind).read(documents)
    refused = {at: f"{path}: {_bare(why)}" for at, why in read.refused.items()}
    if _FIELD not in read.columns:
        return pa.nulls(len(given), kind.arrow), refused
    types = {_FIELD: kind}
    exact, too_long = exact_numbers(read.documents.lines, read.columns, types)
    values, bad = column_values(kind, exact[_FIELD], timezone)
    which = read.documents.record.tolist()
    refused.update({which[at]: f"{path}: {why}" for at, why in too_long.items()})
    for at in np.flatnonzero(bad).tolist():
        refused[which[at]] = reason(path, kind, exact[_FIELD], at)
    return placed(kind, [(which, values)], len(given)), refused


@lru_cache(maxsize=256)
def _reader(kind: ColumnType) -> JsonReader:
    return JsonReader({_FIELD: kind})


def _is_text(value: Any) -> bool:
    """Returns True for a text that can be written in UTF-8."""
    if not isinstance(value, str) or isinstance(value, _Number):
        return False
    return value.isascii() or not any("\ud800" <= each <= "\udfff" for each in value)


def _bare(why: str) -> str:
    """Returns a reason without the field's name, which is none of the record's."""
    return why.removeprefix(f"{_FIELD}: ").partition(" - at `$.")[0]


def _written(value: Any) -> bytes:
    """Returns a value as JSON, with its numbers as they were."""
    if isinstance(value, _Number):
        return value.encode()
    if isinstance(value, list):
        return b"[%s]" % b",".join(map(_written, value))
    if isinstance(value, dict):
        pairs = (b"%s:%s" % (_written(name), _written(each)) for name, each in value.items())
        return b"{%s}" % b",".join(pairs)
    return json.dumps(value).encode()
