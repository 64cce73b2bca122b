"""JSON depth: documents that are nested too deeply for a decoder.

How deep a decoder reads depends on the stack at its call. The same record must always get the same
answer, so the limit is far below that of the decoder.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from aggregator.tables.value_limits import limits_of

DEPTH_MAX = 300
"""Most objects and arrays within each other."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)


def too_deep(documents: pa.BinaryArray) -> list[int]:
    """Returns the indexes of documents that are nested too deeply."""
    limits = limits_of(documents)
    if np.diff(limits).max(initial=0) <= DEPTH_MAX:
        return []
    octets = np.frombuffer(documents.buffers()[2] or b"", np.uint8)[limits[0] : limits[-1]]
    # Both brackets differ in one bit only.
    opened = np.flatnonzero(octets & 0xDF == ord("["))
    counts = np.diff(np.searchsorted(opened, limits - limits[0]))
    maybe = np.flatnonzero(counts > DEPTH_MAX)
    return [at for at in maybe.tolist() if _depth(documents[at].as_py()) > DEPTH_MAX]


def _depth(document: bytes) -> int:
    octets = np.frombuffer(_STRING.sub(b"", document), np.uint8)
    opens, closes = np.isin(octets, list(b"{[")), np.isin(octets, list(b"}]"))
    return int((np.cumsum(opens) - np.cumsum(closes)).max(initial=0))
