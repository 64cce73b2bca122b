"""Spans as sets of offsets, for tests that count one by one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from replicator.audit.claims import spans_of
from replicator.mirror.offset_map.spans import Spans


def offsets(spans: Spans) -> set[int]:
    return {offset for begin, end in spans for offset in range(begin, end)}


def spans(some: Iterable[int]) -> Spans:
    found = np.array(sorted(some), dtype=np.int64)
    return spans_of(found, found + 1)
