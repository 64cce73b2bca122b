"""Wide numbers: integers beyond 64 bits and decimals beyond 38 digits, one at a time.

Arrow has no such integers, and casts no text to such decimals; Python has both. An integer takes
decimals and texts that are whole. A number that a column cannot hold is bad, never cut off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa

from aggregator.formats.time_texts import Flags
from aggregator.tables.column_type import WIDE_INTEGERS, ColumnType

_EXACT = Context(prec=400)
# No longer text is a number that any column holds, but for zeros in front and at its end.
_TEXT = re.compile(r"-?[0-9]{1,150}(?:\.[0-9]{0,150})?")


def wide_of_texts(kind: ColumnType, texts: pa.Array) -> tuple[pa.Array, Flags]:
    """Returns the numbers of texts (null where there is none), and True for each bad one.

    Args:
        texts: digits, perhaps with a point.
    """
    numbers = (
        Decimal(text) if text is not None and _TEXT.fullmatch(text) else None
        for text in texts.to_pylist()
    )
    return _stored(kind, numbers, texts)


def wide_of_values(kind: ColumnType, values: pa.Array) -> tuple[pa.Array, Flags]:
    """Returns numbers for a column, and True for each that it cannot hold.

    Args:
        values: integers or decimals.
    """
    return _stored(kind, map(_decimal, values.to_pylist()), values)


def wide_integer(base: str, number: int) -> bytes | None:
    """Returns the bytes of an integer as a column has them; None if it is out of range."""
    try:
        return number.to_bytes(WIDE_INTEGERS[base], "little", signed=base.startswith("I"))
    except OverflowError:
        return None


def _decimal(value: int | Decimal | None) -> Decimal | None:
    return None if value is None else Decimal(value)


def _stored(
    kind: ColumnType, numbers: Iterable[Decimal | None], given: pa.Array
) -> tuple[pa.Array, Flags]:
    stored = [None if each is None else _of_number(kind, each) for each in numbers]
    column = pa.array(stored, kind.arrow)
    return column, np.asarray(column.is_null()) & np.asarray(given.is_valid())


def _of_number(kind: ColumnType, number: Decimal) -> bytes | Decimal | None:
    ticks = _EXACT.scaleb(number, kind.scale)
    if ticks != (whole := int(ticks)):
        return None
    if kind.base in WIDE_INTEGERS:
        return wide_integer(kind.base, whole)
    is_small = abs(whole) < 10**kind.precision
    return _EXACT.scaleb(Decimal(whole), -kind.scale) if is_small else None
