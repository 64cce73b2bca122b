"""Checks of single JSON documents: what the columnar reader lets pass, and why it refuses others.

The reader turns numbers into the text of a String, and half a surrogate pair into a zero. Both are
searched for in all documents at once; only documents that look suspicious are decoded one by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import re2

from aggregator.formats.record_slice import Ints
from aggregator.tables.column_type import ColumnType
from aggregator.tables.value_limits import limits_of

_SURROGATE = re2.compile(rb"\\u[dD][89abcdefABCDEF]")
_ESCAPED_KEY = re2.compile(rb'"[^"\\]*(?:\\.[^"\\]*)+"[ \t\r]*:[ \t\r]*[^" \t\rn]')
# The reader's text of a number, a boolean, an array or an object: first and last byte, and all.
_BEGINS_UNQUOTED = np.zeros(256, np.bool_)
_BEGINS_UNQUOTED[list(b"-0123456789tf[{")] = True
_ENDS_UNQUOTED = np.zeros(256, np.bool_)
_ENDS_UNQUOTED[list(b"0123456789e]}")] = True
_UNQUOTED = r"^(-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|\[.*|\{.*)$"
_INTEGERS = {
    "Int8": (-(2**7), 2**7 - 1),
    "Int16": (-(2**15), 2**15 - 1),
    "Int32": (-(2**31), 2**31 - 1),
    "Int64": (-(2**63), 2**63 - 1),
    "UInt8": (0, 2**8 - 1),
    "UInt16": (0, 2**16 - 1),
    "UInt32": (0, 2**32 - 1),
    "UInt64": (0, 2**64 - 1),
}


class JsonCheck:
    """Checks documents against the types of a table's columns."""

    def __init__(self, types: Mapping[str, ColumnType]) -> None:
        self._types = types
        # Names of fields need not be identifiers.
        self._fields = {f"f{number}": name for number, name in enumerate(types)}

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[Any]:
        fields = [
            (field, _value_of(self._types[name]) | None, None)
            for field, name in self._fields.items()
        ]
        document = msgspec.defstruct("Document", fields, rename=self._fields)
        return msgspec.json.Decoder(document)

    def examine(self, document: bytes) -> tuple[str | None, frozenset[str]]:
        """Returns why a document cannot be loaded, and its UInt8 columns that are booleans."""
        flags: frozenset[str] = frozenset()
        reason: str | None
        try:
            document.decode()
            reason, flags = self._judged(self._decoder.decode(document))
        except RecursionError:
            # polars has a limit of its own.
            return None, frozenset()
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            reason = str(error)
        # Of repeated fields, the decoder reads the last.
        single = _first_fields(document) if reason or flags else None
        return self.examine(single) if single else (reason, flags)

    def _judged(self, found: Any) -> tuple[str | None, frozenset[str]]:
        """Returns the same of a document that is decoded."""
        flags = set()
        for field, name in self._fields.items():
            value, kind = getattr(found, field), self._types[name]
            if isinstance(value, bool):
                if kind.base == "UInt8":
                    flags.add(name)
            elif isinstance(value, int) and not _is_in_range(kind, value):
                return f"{name}: {value} is out of the range of {kind.base}", frozenset()
        return None, frozenset(flags)

    def suspicious(self, text: bytes, begins: Ints, columns: Mapping[str, pa.Array]) -> Ints:
        """Returns the indexes of documents that have to be examined one by one.

        Args:
            text: all documents.
            begins: where each begins.
            columns: that the reader returned for these documents.
        """
        found: set[int] = set()
        for pattern in self._patterns(text, columns):
            at = [match.start() for match in pattern.finditer(text)]
            found.update((np.searchsorted(begins, at, side="right") - 1).tolist())
        return np.array(sorted(found), np.int64)

    def _patterns(self, text: bytes, columns: Mapping[str, pa.Array]) -> Iterator[Any]:
        # The search for one byte is much faster than that for two.
        has_escapes = b"\\" in text
        if has_escapes:
            yield _SURROGATE
        names = [name for name, values in columns.items() if self._may_be_unquoted(name, values)]
        if names:
            yield self._unquoted(names)
            if has_escapes:
                yield _ESCAPED_KEY

    def _may_be_unquoted(self, name: str, values: pa.Array) -> bool:
        """Returns True if a text of the column may have been a number, for example."""
        kind = self._types[name]
        while kind.element is not None:
            kind, values = kind.element, values.flatten()
        if not kind.is_text or not len(values):
            return False
        limits = limits_of(values)
        octets = np.frombuffer(values.buffers()[2] or b"\0", np.uint8)
        # An empty text at the end has no byte of its own.
        begin = octets[np.minimum(limits[:-1], len(octets) - 1)]
        which = np.flatnonzero(_BEGINS_UNQUOTED[begin] & (np.diff(limits) > 0))
        which = which[_ENDS_UNQUOTED[octets[limits[which + 1] - 1]]]
        maybe = values.take(pa.array(which))
        return bool(pc.any(pc.match_substring_regex(maybe, _UNQUOTED)).as_py())

    def _unquoted(self, names: Sequence[str]) -> Any:
        """Returns a pattern of values of these fields that are neither text nor null."""
        element = rb'(?:"(?:[^"\\]|\\.)*"|null)[ \t\r]*,[ \t\r]*'
        array = rb'[^" \t\rn\[]|\[[ \t\r]*(?:' + element + rb')*[^" \t\rn\]]'
        choices = [
            rb'"%s"[ \t\r]*:[ \t\r]*(?:%s)' % (re2.escape(name.encode()), value)
            for name in names
            for value in [array if self._types[name].element else rb'[^" \t\rn]']
        ]
        return re2.compile(b"|".join(choices))


def _first_fields(document: bytes) -> bytes | None:
    """Returns a document without repeated fields, of which polars reads the first; None if it has
    none."""
    has_repeated = False

    def first(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal has_repeated
        fields = dict(reversed(pairs))
        has_repeated |= len(fields) < len(pairs)
        return fields

    try:
        found = json.loads(document, object_pairs_hook=first)
    except (ValueError, RecursionError):
        return None
    return json.dumps(found).encode() if has_repeated else None


def _value_of(kind: ColumnType) -> Any:
    """Returns what the decoder accepts for a type of column."""
    if kind.element is not None:
        element = _value_of(kind.element)
        return list[element | None] if kind.element.is_nullable else list[element]  # type: ignore[valid-type]
    if kind.base == "UInt8":
        return int | bool
    if kind.base in _INTEGERS:
        return int
    if kind.base in ("Float32", "Float64"):
        return float
    if kind.base == "Bool":
        return bool
    return str if kind.is_text or kind.base in ("Date", "Date32") else str | int | float


def _is_in_range(kind: ColumnType, value: int) -> bool:
    least, most = _INTEGERS.get(kind.base, (value, value))
    return least <= value <= most
