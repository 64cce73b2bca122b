"""Written values: fields of a row batch as what the types of their columns mean.

The column may have another type by now, so numbers become moments, and numbers of an Enum names.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.row_batch_type import is_wrapped
from aggregator.tables.column_type import ColumnType

_DAYS = np.iinfo(np.int32)
_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}


def written_values(kind: ColumnType, values: pa.Array, now: ColumnType | None) -> pa.Array:
    """Returns a field's values as texts, or as values of a type that column_values takes.

    Args:
        kind: of the column as the batch names it.
        now: of the column in the table; None if it is no Array where the batch has one.
    """
    if kind.fields:
        elements = dict(now.fields) if now else {}
        parts = [
            written_values(each, inside, elements.get(name))
            for (name, each), inside in zip(kind.fields, values.flatten(), strict=True)
        ]
        names = [name for name, _ in kind.fields]
        mask = values.is_null() if values.null_count else None
        return pa.StructArray.from_arrays(parts, names=names, mask=mask)
    if kind.element is not None:
        flat = values.flatten()
        if is_wrapped(kind.element):
            flat = pc.struct_field(flat, [0])
        elements = written_values(kind.element, flat, now.element if now else None)
        return pa.LargeListArray.from_arrays(_from_zero(values.offsets), elements)
    if kind.base in ("Date", "Date32"):
        # A day beyond these is in no range.
        days = pc.max_element_wise(values, _DAYS.min, skip_nulls=False)
        days = pc.min_element_wise(days, _DAYS.max, skip_nulls=False)
        return days.cast(pa.int32()).cast(pa.date32())
    if kind.base in ("DateTime", "DateTime64"):
        return values.cast(pa.timestamp(time_unit(kind), "UTC"))
    if kind.values and (now is None or now.values != kind.values):
        return _names(kind, values)
    return values


def time_unit(kind: ColumnType) -> str:
    """Returns the unit of a DateTime or DateTime64 in a row batch."""
    return next(unit for digits, unit in _UNITS.items() if digits >= kind.scale)


def _from_zero(offsets: pa.Array) -> pa.Array:
    return pc.subtract(offsets, offsets[0]) if len(offsets) else offsets


def _names(kind: ColumnType, numbers: pa.Array) -> pa.Array:
    """Returns the names of an Enum's numbers; a number without a name becomes its text."""
    known = pa.array([number for _, number in kind.values], pa.int64())
    names = pa.array([name for name, _ in kind.values], pa.large_string())
    found = names.take(pc.index_in(numbers, known))
    return pc.coalesce(found, numbers.cast(pa.large_string()))
