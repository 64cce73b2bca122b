"""Avro rewriting: datums of one schema as datums of another, by their projection.

All datums are read in step, as in avro_columns. Bytes that both schemas share are copied.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from aggregator.formats.avro_cursors import Cursors
from aggregator.formats.avro_items import items_of, skip
from aggregator.formats.avro_projection import (
    Branch,
    Branches,
    Fields,
    Floating,
    Parts,
    Projection,
    Same,
    Symbols,
    Texts,
)
from aggregator.formats.avro_schema import AvroType
from aggregator.formats.avro_values import scalars_of
from aggregator.formats.binary_pieces import blocks, cut, joined, zigzags
from aggregator.formats.byte_columns import taken
from aggregator.formats.record_slice import Ints

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
        case Fields():
            return _record(how, kind, cursors)
        case Texts():
            return _texts(kind, cursors)
        case Symbols():
            return _symbols(how, cursors)
        case Branch():
            return joined([how.number, rewritten(how.how, kind, cursors)])
        case Parts() if kind.base == "union":
            return _union(how, kind, cursors, keeps_number=True)
        case Branches():
            return _union(how, kind, cursors, keeps_number=False)
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


def _texts(kind: AvroType, cursors: Cursors) -> pa.BinaryArray:
    begin = cursors.at.copy()
    scalars_of(replace(kind, base="string"), cursors, is_text=True)
    # What is no text was broken: its cursor stands at the end.
    end = np.where(cursors.is_broken, begin, cursors.at)
    return taken(cursors.octets.data, begin, end)


def _symbols(how: Symbols, cursors: Cursors) -> pa.BinaryArray:
    number = cursors.number()
    cursors.break_where((number < 0) | (number >= len(how.numbers)))
    number[cursors.is_broken] = 0
    return zigzags(np.array(how.numbers)[number])


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
    how: Parts | Branches, kind: AvroType, cursors: Cursors, *, keeps_number: bool
) -> pa.BinaryArray:
    branch = cursors.number()
    cursors.break_where((branch < 0) | (branch >= len(kind.parts)))
    branch[cursors.is_broken] = 0
    found: list[pa.BinaryArray] = []
    order: list[Ints] = []
    for number, (part, each) in enumerate(zip(kind.parts, how.parts, strict=True)):
        which = np.flatnonzero(branch == number)
        if len(which):
            chosen = cursors.some(which)
            found.append(rewritten(each, part, chosen))
            cursors.rejoin(which, chosen)
            order.append(which)
    values = pa.concat_arrays(found)
    values = values.take(pa.array(np.argsort(np.concatenate(order))))
    return joined([zigzags(branch), values]) if keeps_number else values


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
