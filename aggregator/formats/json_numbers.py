"""JSON numbers: those of decimals and times, digit by digit as their documents write them.

A columnar reader takes a number with a point for a double, which keeps 15 digits. Documents
that hold longer numbers are read once more, one by one, and their numbers become texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Context, Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.json_depth import too_deep
from aggregator.formats.json_nulls import TOO_DEEP
from aggregator.formats.text_values import DIGITS_OF_A_DOUBLE
from aggregator.tables.column_type import WIDE_INTEGERS, ColumnType

# Besides digits, an exponent below those of doubles: such a number would be read as 0.
_LONG = rf"[0-9][0-9.]{{{DIGITS_OF_A_DOUBLE},}}|[eE]-0*[0-9]{{3,}}"
_EXACT_BASES = ("Decimal", "DateTime", "DateTime64", *WIDE_INTEGERS)
_EXPONENT_MAX = 100
"""Largest exponent that is written out: no column holds a number that is larger, or finer."""
_CONTEXT = Context(prec=10_000)


class _Number(str):
    """Text of a number."""

    __slots__ = ()


def exact_numbers(
    documents: pa.BinaryArray, columns: Mapping[str, pa.Array], types: Mapping[str, ColumnType]
) -> tuple[dict[str, pa.Array], dict[int, str]]:
    """Returns columns with long numbers as their documents write them, and why documents are
    refused, by index.

    Args:
        documents: that a reader has read.
        columns: that it returned, with texts for numbers of decimals and times.
    """
    found = dict(columns)
    names = [name for name in columns if _innermost(types[name]).base in _EXACT_BASES]
    if not names:
        return found, {}
    which = np.flatnonzero(np.asarray(pc.match_substring_regex(documents, _LONG)))
    if not len(which):
        return found, {}
    some = documents.take(pa.array(which))
    refused = dict.fromkeys(too_deep(some), TOO_DEEP)
    exact: dict[str, dict[int, Any]] = {name: {} for name in names}
    for at, text in enumerate(some.to_pylist()):
        document = {} if at in refused else _parsed(text)
        for name in names:
            value = document.get(name)
            if _has_shape(types[name], value) and _holds_number(value):
                exact[name][int(which[at])] = _plain(value)
    for name, values in exact.items():
        if values:
            column = found[name]
            place = np.arange(len(column))
            place[list(values)] = len(column) + np.arange(len(values))
            both = pa.concat_arrays([column, pa.array(list(values.values()), column.type)])
            found[name] = both.take(pa.array(place))
    return found, {int(which[at]): why for at, why in refused.items()}


def _innermost(kind: ColumnType) -> ColumnType:
    while kind.element is not None:
        kind = kind.element
    return kind


def _parsed(document: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        document,
        object_pairs_hook=lambda pairs: dict(reversed(pairs)),
        parse_int=_Number,
        parse_float=_Number,
    )
    return found


def _has_shape(kind: ColumnType, value: Any) -> bool:
    """Returns True for a text or a number, or for lists of these as deep as the type's. A value of
    another shape stays as the reader returned it, and is refused as that."""
    if kind.element is None:
        return isinstance(value, str)
    return isinstance(value, list) and all(
        each is None or _has_shape(kind.element, each) for each in value
    )


def _holds_number(value: Any) -> bool:
    """Returns True for a number, and for a list with one; others stay as the reader returned
    them."""
    if isinstance(value, list):
        return any(map(_holds_number, value))
    return isinstance(value, _Number)


def _plain(value: Any) -> Any:
    """Returns a value with its numbers as texts without an exponent."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, _Number) or value.lower().find("e") < 0:
        return value
    try:
        number = _CONTEXT.create_decimal(value)
    except InvalidOperation:
        return value
    if not number:
        return "0"
    return f"{number:f}" if _is_small(number) else value


def _is_small(number: Decimal) -> bool:
    exponent = number.as_tuple().exponent
    return isinstance(exponent, int) and abs(exponent) <= _EXPONENT_MAX
