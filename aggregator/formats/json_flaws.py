"""JSON flaws: why values are not one JSON document each.

Documents are those of RFC 8259 in UTF-8, without half surrogate pairs and not nested too deeply.
"""

from __future__ import annotations

from collections import deque

import msgspec
import numpy as np
import pyarrow as pa

from aggregator.formats.json_depth import DEPTH_MAX, too_deep
from aggregator.formats.record_slice import RecordSlice

_DECODE = msgspec.json.Decoder(msgspec.Raw).decode


def json_flaws(records: RecordSlice) -> dict[int, str]:
    """Returns why values are no JSON, by index. A null value has no flaw."""
    which = np.flatnonzero(records.value_begin >= 0)
    values = records.value_column.drop_null()
    deep = too_deep(values)
    if not deep and _are_sound(values):
        return {}
    reasons = dict.fromkeys(deep, f"no JSON: nested more than {DEPTH_MAX} deep")
    for at, value in enumerate(values.to_pylist()):
        if at not in reasons and (reason := _flaw(value)):
            reasons[at] = f"no JSON: {reason}"
    return {int(which[at]): reason for at, reason in reasons.items()}


def _are_sound(values: pa.BinaryArray) -> bool:
    try:
        values.cast(pa.string())  # fails where one is not UTF-8
        deque(map(_DECODE, values.to_pylist()), maxlen=0)
    except (pa.ArrowInvalid, msgspec.MsgspecError):
        return False
    return True


def _flaw(value: bytes) -> str | None:
    try:
        value.decode()
        _DECODE(value)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return str(error)
    return None
