"""JSON fields: texts of the fields of JSON documents, by the document alone.

A text is that of a string, and what stands in the document of a number or a boolean. Null, an
object, an array and a missing field have none; nor has any field of a value that is no JSON object.
The last of repeated fields counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from aggregator.formats.json_depth import too_deep
from aggregator.formats.record_slice import Ints, RecordSlice

Path = tuple[str, ...]
"""Names of a field and of those that it lies in, the outermost first."""

_NOTHING = b"{}"
_BRACKETS = b"{["


class Texts(NamedTuple):
    """Texts of one field.

    Args:
        texts: that are found; None: no text.
        number: of each record's in `texts`.
    """

    texts: list[str | None]
    number: Ints


def path_of(name: str) -> Path:
    """Returns the path of a field's name, such as `from.city`."""
    return tuple(name.split("."))


def field_texts(records: RecordSlice, paths: Sequence[Path]) -> list[Texts]:
    """Returns the texts of each of these fields in the values of records."""
    values = records.value_column
    documents = values.fill_null(_NOTHING).to_pylist()
    for at in too_deep(values):
        documents[at] = _NOTHING
    found = _found(documents, frozenset(paths))
    return [_texts(found[path]) for path in paths]


def _found(documents: Iterable[bytes], paths: frozenset[Path]) -> dict[Path, list[bytes]]:
    """Returns what stands in each document for each field; nothing where it is missing."""
    heads = tuple(sorted({path[0] for path in paths}))
    columns = dict(zip(heads, _read(documents, heads), strict=True))
    found: dict[Path, list[bytes]] = {}
    for head, column in columns.items():
        if (head,) in paths:
            found[head,] = column
        if inner := frozenset(path[1:] for path in paths if path[0] == head and len(path) > 1):
            objects = [each if each[:1] == b"{" else _NOTHING for each in column]
            found |= {(head, *path): each for path, each in _found(objects, inner).items()}
    return found


def _read(documents: Iterable[bytes], names: tuple[str, ...]) -> list[list[bytes]]:
    decode = _decoder(names)
    documents = list(documents)
    try:
        rows = list(map(decode, documents))
    except _REFUSALS:
        rows = [_decoded(decode, each) for each in documents]
    return [list(map(bytes, map(attrgetter(f"f{at}"), rows))) for at in range(len(names))]


_REFUSALS = (msgspec.MsgspecError, UnicodeDecodeError)


def _decoded(decode: Callable[[bytes], Any], document: bytes) -> Any:
    try:
        return decode(document)
    except _REFUSALS:
        return decode(_NOTHING)


@lru_cache(maxsize=256)
def _decoder(names: tuple[str, ...]) -> Callable[[bytes], Any]:
    # Names of fields need not be identifiers.
    fields = [(f"f{at}", msgspec.Raw, msgspec.Raw(b"")) for at in range(len(names))]
    renamed = {f"f{at}": name for at, name in enumerate(names)}
    return msgspec.json.Decoder(
        msgspec.defstruct("Document", fields, rename=renamed, gc=False)
    ).decode


def _texts(column: list[bytes]) -> Texts:
    encoded = pa.array(column, pa.binary()).dictionary_encode()
    texts = [_text(each) for each in encoded.dictionary.to_pylist()]
    return Texts(texts, np.asarray(encoded.indices).astype(np.int64))


def _text(value: bytes) -> str | None:
    if value in (b"", b"null") or value[0] in _BRACKETS:
        return None
    try:
        return str(msgspec.json.decode(value)) if value[:1] == b'"' else value.decode()
    except _REFUSALS:
        return None
