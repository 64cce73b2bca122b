"""Required values: columns in which a null record has values where its type requires some.

An optional record that is null has nothing where its type requires a field, such as `before` of
Debezium's envelopes. Parquet stores such a null by its levels alone, and Arrow's writer takes it
only if the fields hold anything at all there: so they lose their nulls, and keep whatever bytes
stand behind these. Readers see the same null.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]


def with_required(column: pa.Array, kind: pa.DataType | None = None) -> pa.Array:
    """Returns a column whose required fields have no nulls below a record that is null.

    A null where the record is not null stays, and is refused by the writer.
    """
    kind = column.type if kind is None else kind
    return _filled(column, np.zeros(len(column), np.bool_)) if _may_lack(kind) else column


def _may_lack(kind: pa.DataType) -> bool:
    """Returns True if values of a type may have required fields below a null."""
    if pa.types.is_struct(kind):
        return any(not each.nullable or _may_lack(each.type) for each in kind)
    if pa.types.is_list(kind):
        return _may_lack(kind.value_type)
    return pa.types.is_map(kind) and _may_lack(kind.item_type)


def _filled(column: pa.Array, is_absent: Mask) -> pa.Array:
    """Returns a column with its required fields filled.

    Args:
        is_absent: True for each value below a record that is null.
    """
    kind = column.type
    if pa.types.is_struct(kind):
        is_null = np.asarray(column.is_null())
        below = is_absent | is_null
        parts = [_part(column.field(at), kind.field(at), below) for at in range(kind.num_fields)]
        mask = pa.array(is_null) if is_null.any() else None
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
    if pa.types.is_list(kind) and _may_lack(kind):
        return _with_items(column, with_required(column.values), column.buffers()[0])
    if pa.types.is_map(kind) and _may_lack(kind):
        entries = pa.StructArray.from_arrays(
            [column.keys, with_required(column.items)], fields=[kind.key_field, kind.item_field]
        )
        return _with_items(column, entries, column.buffers()[0])
    return column


def _part(values: pa.Array, field: pa.Field, is_absent: Mask) -> pa.Array:
    """Returns a field's values; without nulls if it is required, and has none but below a null."""
    found = _filled(values, is_absent)
    if field.nullable or not found.null_count or (np.asarray(found.is_null()) & ~is_absent).any():
        return found
    kind = found.type
    if pa.types.is_struct(kind):
        parts = [found.field(at) for at in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(kind))
    if pa.types.is_list(kind):
        return _with_items(found, found.values, None)
    if pa.types.is_map(kind):
        fields = [kind.key_field, kind.item_field]
        entries = pa.StructArray.from_arrays([found.keys, found.items], fields=fields)
        return _with_items(found, entries, None)
    buffers = found.buffers()
    return pa.Array.from_buffers(kind, len(found), [None, *buffers[1:]], 0, found.offset)


def _with_items(lists: pa.Array, items: pa.Array, validity: pa.Buffer | None) -> pa.Array:
    """Returns lists, or maps, of other items in their places."""
    buffers = [validity, lists.buffers()[1]]
    return pa.Array.from_buffers(
        lists.type, len(lists), buffers, -1, lists.offset, children=[items]
    )
