"""JSON nulls: fields that are null, told from fields that a document does not have.

Columnar readers return the same for both. Only documents that name one of the fields with a null
behind it are read once more, one by one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import re2

from aggregator.formats.json_depth import DEPTH_MAX, too_deep
from aggregator.formats.record_slice import Ints
from aggregator.tables.decoded import Mask

_SPACE = r"[ \t\r\n]*"
_ESCAPED_KEY = r'[^"\\]*(?:\\.[^"\\]*)+'
TOO_DEEP = f"nested more than {DEPTH_MAX} deep"


def null_fields(
    documents: pa.BinaryArray, columns: Mapping[str, pa.Array], names: Collection[str]
) -> tuple[dict[str, Mask], dict[int, str]]:
    """Returns True for each document whose field is null, by field, and why documents are refused,
    by index.

    Args:
        documents: that a reader has read.
        columns: that it returned; a field without a column is null or missing everywhere.
        names: of fields of which it matters.
    """
    names = [name for name in names if name not in columns or columns[name].null_count]
    nulls: dict[str, Mask] = {}
    which = maybe_null(documents, names)
    if not len(which):
        return nulls, {}
    some = documents.take(pa.array(which))
    refused = dict.fromkeys(too_deep(some), TOO_DEEP)
    for at, text in enumerate(some.to_pylist()):
        found = {} if at in refused else parsed(text)
        for name in names:
            if name in found and found[name] is None:
                nulls.setdefault(name, np.zeros(len(documents), np.bool_))[which[at]] = True
    return nulls, {int(which[at]): why for at, why in refused.items()}


def maybe_null(documents: pa.BinaryArray, names: Collection[str]) -> Ints:
    """Returns the indexes of documents that may have a null in a field of one of these names, at
    any depth."""
    if not names:
        return np.empty(0, np.int64)
    choices = "|".join([*(re2.escape(name) for name in names), _ESCAPED_KEY])
    found = pc.match_substring_regex(documents, f'"(?:{choices})"{_SPACE}:{_SPACE}null')
    return np.flatnonzero(np.asarray(pc.fill_null(found, False)))


def parsed(document: bytes) -> Any:
    """Returns a document of which only the structure matters; of repeated fields, the first."""
    return json.loads(document, object_pairs_hook=_first_of_each, parse_int=len, parse_float=len)


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(pairs))
