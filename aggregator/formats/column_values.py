"""Column values: what a reader returns, turned into the values that a table stores."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.text_values import of_texts
from aggregator.formats.time_texts import Flags
from aggregator.formats.typed_values import of_typed, refused
from aggregator.tables.column_default import zero
from aggregator.tables.column_type import NUMBERS, ColumnType

_FLAGS = {"true": 1, "false": 0}
_KEY = re.compile(r"-?(?:0|[1-9][0-9]{0,19})")


def column_values(kind: ColumnType, values: pa.Array, timezone: str) -> tuple[pa.Array, Flags]:
    """Returns values of the table's column, and True for each row that has a bad one.

    Args:
        values: as a reader returns them: texts, or values of any type that the table in
            typed_values names; lists of these for an Array, structs with the same fields for a
            Tuple, lists of structs for a Map. Values of another type are bad.
        timezone: of the server.
    """
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        if kind.element is not None:
            return _lists(kind, kind.element, values, timezone)
        return refused(kind, values)
    if kind.fields and pa.types.is_struct(values.type):
        return _tuples(kind, values, timezone)
    if kind.element is not None or kind.fields:
        return refused(kind, values)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        if kind.base in NUMBERS:
            return _key_numbers(kind, values) if kind.is_key else refused(kind, values)
        return of_texts(kind, values.cast(pa.large_string()), timezone)
    return of_typed(kind, values, timezone)


def reason(name: str, kind: ColumnType, values: pa.Array, at: int) -> str:
    """Returns why a bad value cannot be loaded."""
    given = values.type
    if pa.types.is_temporal(given):
        # Python has no nanoseconds, and no years behind 9999.
        bare = pa.timestamp(given.unit) if pa.types.is_timestamp(given) else given
        value = values[at : at + 1].cast(bare).cast(pa.string())[0].as_py()
    else:
        value = _shown(values[at : at + 1])
    is_not = "does not fit into" if kind.base == "Decimal" else "is no"
    return f"{name}: {value:.100} {is_not} {kind.name}"


def _shown(value: pa.Array) -> str:
    try:
        return repr(value[0].as_py())
    except (ValueError, OverflowError):  # a time within it that Python does not have
        return " ".join(value.to_string(skip_new_lines=True).split())


def _lists(
    kind: ColumnType, element: ColumnType, values: pa.Array, timezone: str
) -> tuple[pa.Array, Flags]:
    flat = values.flatten()
    elements, bad_element = column_values(element, flat, timezone)
    if flat.null_count and not element.is_nullable:
        bad_element = bad_element | np.asarray(flat.is_null())
    length = np.asarray(pc.fill_null(pc.list_value_length(values), 0))
    offsets = np.concatenate(([0], np.cumsum(length)))
    mask = values.is_null() if values.null_count else None
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), elements, type=kind.arrow, mask=mask)
    bad = repeated_keys(kind, lists)
    if bad_element.any():
        bad[np.repeat(np.arange(len(values)), length)[bad_element]] = True
    return lists, bad


def _tuples(kind: ColumnType, values: pa.Array, timezone: str) -> tuple[pa.Array, Flags]:
    """Returns Tuples of structs: by the names of fields, of which an unnamed Tuple has all."""
    given = dict(zip((each.name for each in values.type), values.flatten(), strict=True))
    if not kind.is_named and list(given) != [name for name, _ in kind.fields]:
        return refused(kind, values)
    parts, bad = [], np.zeros(len(values), np.bool_)
    for name, each in kind.fields:
        inside = given.get(name, pa.nulls(len(values)))
        part, bad_part = column_values(each, inside, timezone)
        parts.append(part)
        bad |= bad_part
    return tuples_of(kind, parts, np.asarray(values.is_valid())), bad


def tuples_of(kind: ColumnType, parts: Sequence[pa.Array], is_there: Flags) -> pa.Array:
    """Returns the values of a Tuple, with the defaults of their types for elements that are null
    without being Nullable.

    Args:
        parts: values of each element.
        is_there: False for each row without a value.
    """
    complete = []
    for (_, each), part in zip(kind.fields, parts, strict=True):
        if part.null_count and not each.is_nullable:
            both = pa.concat_arrays([part, pa.array([zero(each).as_py()], each.arrow)])
            is_null = np.asarray(part.is_null())
            part = both.take(pa.array(np.where(is_null, len(part), np.arange(len(part)))))
        complete.append(part)
    mask = None if is_there.all() else pa.array(~is_there)
    return pa.StructArray.from_arrays(complete, fields=list(kind.arrow), mask=mask)


def repeated_keys(kind: ColumnType, lists: pa.Array) -> Flags:
    """Returns True for each Map that has a key twice: it is not known which value is meant."""
    bad = np.zeros(len(lists), np.bool_)
    if kind.base != "Map":
        return bad
    length = np.asarray(pc.fill_null(pc.list_value_length(lists), 0))
    keys = lists.flatten().field(0).dictionary_encode()
    owner = np.repeat(np.arange(len(lists)), length)
    numbers = np.asarray(pc.fill_null(keys.indices, -1)).astype(np.int64)
    pairs = owner * (len(keys.dictionary) + 1) + numbers
    _, first = np.unique(pairs, return_index=True)
    is_repeated = np.ones(len(owner), np.bool_)
    is_repeated[first] = False
    bad[owner[is_repeated]] = True
    return bad


def _key_numbers(kind: ColumnType, texts: pa.Array) -> tuple[pa.Array, Flags]:
    """Returns the numbers that keys of a Map write as texts."""
    numbers = [None if text is None else _key_number(kind, text) for text in texts.to_pylist()]
    column = pa.array(numbers, kind.arrow)
    return column, np.asarray(column.is_null()) & np.asarray(texts.is_valid())


def _key_number(kind: ColumnType, text: str) -> int | None:
    if kind.base == "Bool":
        return _FLAGS.get(text)
    if kind.base.startswith("Float") or not _KEY.fullmatch(text):
        return None
    limits = np.iinfo(kind.arrow.to_pandas_dtype())
    return number if limits.min <= (number := int(text)) <= limits.max else None
