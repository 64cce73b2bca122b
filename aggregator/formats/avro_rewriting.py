"""Avro rewriting: datums of one schema as datums of another, by their projection.

All datums are read in step, as in avro_columns. Bytes that both schemas share are copied.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from aggregator.formats.avro_cursors import Cursors
from aggregator.formats.avro_items import items_of, skip
from aggregator.formats.avro_projection import (
    Branches,
    Fields,
    Floating,
    Into,
    Parts,
    Projection,
    Same,
    Symbols,
)
from aggregator.formats.avro_schema import AvroType
from aggregator.formats.avro_values import scalars_of
from aggregator.formats.binary_pieces import blocks, cut, joined, zigzags
from aggregator.formats.byte_columns import taken
from aggregator.formats.record_slice import Ints
from replicator.batches.varints import packed

_FLOATING = {"float": "<f4", "double": "<f8"}


def rewritten(how: Projection, kind: AvroType, cursors: Cursors) -> pa.BinaryArray:
    """Returns a value of each datum in the wanted schema, and moves the cursors behind it.

    Values of broken datums mean nothing.

    Args:
        kind: of the values as they were written.
    """
    match how:
        case Same():
            return _copied(kind, cursors)
        case Floating():
            return _floating(how, kind, cursors)
        case Symbols():
            return _enum(how, kind, cursors)
        case Fields():
            return _record(how, kind, cursors)
        case Into():
            return joined([packed([how.branch << 1]), rewritten(how.part, kind, cursors)])
        case Branches():
            return _union(how.numbers, how.parts, kind, cursors)
        case Parts() if kind.base == "union":
            return _union(tuple(range(len(how.parts))), how.parts, kind, cursors)
    return _items(how, kind, cursors)


def _copied(kind: AvroType, cursors: Cursors) -> pa.BinaryArray:
    begin = cursors.at.copy()
    skip(kind, cursors)
    return taken(cursors.octets.data, begin, cursors.at)


def _floating(how: Floating, kind: AvroType, cursors: Cursors) -> pa.BinaryArray:
    values = np.asarray(scalars_of(kind, cursors))
    with np.errstate(over="ignore"):
        wanted = values.astype(_FLOATING[how.base])
    return cut(wanted.tobytes(), np.arange(len(wanted) + 1) * wanted.itemsize)


def _enum(how: Symbols, kind: AvroType, cursors: Cursors) -> pa.BinaryArray:
    code = cursors.number()
    cursors.break_where((code < 0) | (code >= len(kind.symbols)))
    code[cursors.is_broken] = 0
    return zigzags(np.array(how.codes)[code])


def _record(how: Fields, kind: AvroType, cursors: Cursors) -> pa.BinaryArray:
    projections = {each[0]: each[1] for each in how.sources if not isinstance(each, bytes)}
    pieces: dict[int, pa.BinaryArray] = {}
    for number, part in enumerate(kind.parts):
        if number in projections:
            pieces[number] = rewritten(projections[number], part, cursors)
        else:
            skip(part, cursors)
    row = [each if isinstance(each, bytes) else pieces[each[0]] for each in how.sources]
    if not pieces:
        return pa.array([b"".join(each for each in row if isinstance(each, bytes))] * len(cursors))
    return joined(row)


def _union(
    numbers: tuple[int, ...] | None,
    parts: tuple[Projection, ...],
    kind: AvroType,
    cursors: Cursors,
) -> pa.BinaryArray:
    branch = cursors.number()
    cursors.break_where((branch < 0) | (branch >= len(kind.parts)))
    branch[cursors.is_broken] = 0
    found: list[pa.BinaryArray] = []
    order: list[Ints] = []
    for number, (part, each) in enumerate(zip(kind.parts, parts, strict=True)):
        which = np.flatnonzero(branch == number)
        if len(which):
            chosen = cursors.some(which)
            found.append(rewritten(each, part, chosen))
            cursors.rejoin(which, chosen)
            order.append(which)
    values = pa.concat_arrays(found).take(pa.array(np.argsort(np.concatenate(order))))
    return values if numbers is None else joined([zigzags(np.array(numbers)[branch]), values])


def _items(how: Parts, kind: AvroType, cursors: Cursors) -> pa.BinaryArray:
    items, owner = items_of(kind, cursors)
    values = rewritten(how.parts[0], kind.parts[0], items)
    unread = items.is_broken | (items.at != items.end)
    if unread.any():
        wrong = np.zeros(len(cursors), np.bool_)
        wrong[owner[unread]] = True
        cursors.break_where(wrong)
    count = np.bincount(owner, minlength=len(cursors)).astype(np.int64)
    return blocks(values, count)
