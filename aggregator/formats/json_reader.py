"""JSON reader: documents as columns by polars, and which documents cannot be read.

Most blocks are read at once. A block that polars refuses is read by halves. In a small one each
document is examined, and the rest is read by halves until each refused one is found. A UInt8 column
may hold booleans; documents that do are read apart from those that hold numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

from aggregator.formats.json_check import JsonCheck
from aggregator.formats.json_lines import JsonLines, joined
from aggregator.formats.record_slice import Ints
from aggregator.tables.column_type import ColumnType
from aggregator.tables.value_limits import limits_of

EXAMINED_MAX = 2048
"""Documents that are examined one by one if polars refuses them."""

_REFUSALS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
_NUMBERS: dict[str, type[pl.DataType]] = {
    "Int8": pl.Int32,
    "Int16": pl.Int32,
    "Int32": pl.Int32,
    "Int64": pl.Int64,
    "UInt8": pl.UInt32,
    "UInt16": pl.UInt32,
    "UInt32": pl.UInt32,
    "UInt64": pl.UInt64,
    # A Float32 of the reader would hide that a number is too large for it.
    "Float32": pl.Float64,
    "Float64": pl.Float64,
    "Bool": pl.Boolean,
}
# The reader needs one column at least.
_NO_COLUMN = "\0"


@dataclass(frozen=True, slots=True, eq=False)
class ReadDocuments:
    """Documents that were read.

    Args:
        columns: as the reader returns them: texts of times, for example.
        refused: why other documents were not read, by index of their record.
    """

    documents: JsonLines
    columns: Mapping[str, pa.Array]
    refused: dict[int, str] = field(default_factory=dict)


class JsonReader:
    """Reads documents of one table.

    Args:
        types: of the columns that documents may hold, by name.
    """

    def __init__(self, types: Mapping[str, ColumnType]) -> None:
        self._types = types
        self._check = JsonCheck(types)

    def read(self, documents: JsonLines) -> ReadDocuments:
        """Returns the documents as columns."""
        parts = list(self._parts(documents))
        return parts[0] if len(parts) == 1 else _joined(parts)

    def _parts(self, documents: JsonLines) -> Iterator[ReadDocuments]:
        """Yields parts of the documents, in order, each of which polars read or was examined."""
        if not len(documents):
            return
        text = documents.text()
        try:
            frame = self._frame(text, len(documents), self._flags_of_first(documents))
        except _REFUSALS:
            if len(documents) <= EXAMINED_MAX:
                yield self._examined(documents)
                return
            middle = len(documents) // 2
            yield from self._parts(documents.between(0, middle))
            yield from self._parts(documents.between(middle, len(documents)))
        else:
            yield self._unsuspicious(documents, text, _arrow(frame))

    def _unsuspicious(
        self, documents: JsonLines, text: bytes, columns: Mapping[str, pa.Array]
    ) -> ReadDocuments:
        """Returns the documents without those that polars should have refused."""
        begins = limits_of(documents.lines)[:-1]
        which = self._check.suspicious(text, begins - begins[0], columns)
        refused = {}
        for at, document in zip(which.tolist(), documents.at(which).lines.to_pylist(), strict=True):
            reason, _ = self._check.examine(document)
            if reason:
                refused[at] = reason
        if not refused:
            return ReadDocuments(documents, columns)
        good = np.delete(np.arange(len(documents)), list(refused))
        kept = {name: values.take(pa.array(good)) for name, values in columns.items()}
        return ReadDocuments(documents.at(good), kept, _by_record(documents, refused))

    def _flags_of_first(self, documents: JsonLines) -> frozenset[str]:
        """Returns the UInt8 columns that are booleans in the first document."""
        if not any(kind.base == "UInt8" for kind in self._types.values()):
            return frozenset()
        return self._check.examine(documents.lines[0].as_py())[1]

    def _frame(self, text: bytes, count: int, flags: frozenset[str]) -> pl.DataFrame:
        """Reads lines. Raises one of _REFUSALS."""
        schema = {name: _dtype(kind) for name, kind in self._types.items()} or {
            _NO_COLUMN: pl.String()
        }
        frame = pl.read_ndjson(text, schema=schema | dict.fromkeys(flags, pl.Boolean()))
        if frame.height != count:
            raise pl.exceptions.ComputeError("the text is not one document")
        return frame.with_columns(pl.col(name).cast(pl.UInt32) for name in flags)

    def _examined(self, documents: JsonLines) -> ReadDocuments:
        """Returns the documents that can be read, after each one was examined."""
        refused: dict[int, str] = {}
        groups: dict[frozenset[str], list[int]] = {}
        for at, document in enumerate(documents.lines.to_pylist()):
            reason, flags = self._check.examine(document)
            if reason:
                refused[at] = reason
            else:
                groups.setdefault(flags, []).append(at)
        read: list[Ints] = []
        frames: list[pl.DataFrame] = []
        for flags, group in groups.items():
            for part, result in self._halved(documents, np.array(group), flags):
                if isinstance(result, str):
                    refused[int(part[0])] = result
                else:
                    read.append(part)
                    frames.append(result)
        if not frames:
            nothing = documents.between(0, 0)
            return ReadDocuments(nothing, {}, _by_record(documents, refused))
        which = np.concatenate(read)
        order = np.argsort(which)
        frame = pl.concat(frames)[order]
        return ReadDocuments(
            documents.at(which[order]), _arrow(frame), _by_record(documents, refused)
        )

    def _halved(
        self, documents: JsonLines, which: Ints, flags: frozenset[str]
    ) -> Iterator[tuple[Ints, pl.DataFrame | str]]:
        """Yields parts of these documents with what was read, or single ones with the reason."""
        try:
            yield which, self._frame(documents.at(which).text(), len(which), flags)
        except _REFUSALS as error:
            if len(which) == 1:
                yield which, str(error).partition("\n")[0]
                return
            middle = len(which) // 2
            yield from self._halved(documents, which[:middle], flags)
            yield from self._halved(documents, which[middle:], flags)


def _dtype(kind: ColumnType) -> pl.DataType:
    if kind.element is not None:
        return pl.List(_dtype(kind.element))
    return _NUMBERS.get(kind.base, pl.String)()


def _arrow(frame: pl.DataFrame) -> dict[str, pa.Array]:
    """Returns the columns that hold anything."""
    return {
        each.name: each.to_arrow(compat_level=pl.CompatLevel.oldest())
        for each in frame.iter_columns()
        if each.null_count() < len(each) and each.name != _NO_COLUMN
    }


def _joined(parts: Sequence[ReadDocuments]) -> ReadDocuments:
    types = {name: values.type for part in parts for name, values in part.columns.items()}
    columns = {
        name: pa.concat_arrays(
            [part.columns.get(name, pa.nulls(len(part.documents), kind)) for part in parts]
        )
        for name, kind in types.items()
    }
    refused: dict[int, str] = {}
    for part in reversed(parts):
        refused.update(part.refused)
    return ReadDocuments(joined([part.documents for part in parts]), columns, refused)


def _by_record(documents: JsonLines, refused: Mapping[int, str]) -> dict[int, str]:
    # The first reason counts if a record has several refused documents.
    return {int(documents.record[at]): refused[at] for at in sorted(refused, reverse=True)}
