"""Decoding of records, whose failures by errors that nobody foresaw become dead letters.

A decoder names the records that it cannot read. Where it fails instead, each loader would meet the
same record and fail again. So the records at which it fails are found by halving.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from aggregator.files.decoded_slice import DecodedSlice
from aggregator.formats.record_slice import RecordSlice

log = logging.getLogger(__name__)

Decode = Callable[[RecordSlice], tuple[DecodedSlice, dict[int, str]]]
"""Returns records with what the file holds of each, and why others cannot be in it, by index."""
REASON_CHARACTERS_MAX = 300


def decoded(decode: Decode, records: RecordSlice) -> tuple[DecodedSlice, dict[int, str]]:
    """Returns what a decoder returns, with a reason for each record at which it fails."""
    try:
        return decode(records)
    except MemoryError:
        raise
    except Exception:
        log.exception("event=decoder-failed offset=%d", int(records.offset[0]))
    failed = dict(_failed(decode, records, 0))
    left = np.delete(np.arange(len(records)), list(failed))
    found, reasons = decode(records.at(left))
    place = np.full(len(records), -1, np.int64)
    place[left] = np.arange(len(left))
    values = found.values.take(pa.array(place, mask=place < 0))
    named = {int(left[at]): why for at, why in reasons.items()}
    return DecodedSlice.of(records, values), named | failed


def _failed(decode: Decode, records: RecordSlice, first: int) -> Iterator[tuple[int, str]]:
    """Yields the indexes of records at which the decoder fails, and why.

    Args:
        first: index of the first record.
    """
    try:
        decode(records)
    except MemoryError:
        raise
    except Exception as error:
        if len(records) == 1:
            what = f"cannot be decoded: {type(error).__name__}: {error}"
            yield first, what[:REASON_CHARACTERS_MAX]
            return
        middle = len(records) // 2
        yield from _failed(decode, records.at(slice(0, middle)), first)
        yield from _failed(decode, records.at(slice(middle, None)), first + middle)
