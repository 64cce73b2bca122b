"""Decoded slice: records with what their file holds of each."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Self

import numpy as np
import pyarrow as pa

from aggregator.formats.record_slice import Ints, RecordSlice


@dataclass(frozen=True, slots=True, eq=False)
class DecodedSlice(RecordSlice):
    """Records in offset order.

    Args:
        values: a row for each record.
    """

    values: pa.Table = field(kw_only=True)

    def __post_init__(self) -> None:
        RecordSlice.__post_init__(self)
        size = self.size_bytes + self.values.get_total_buffer_size()
        object.__setattr__(self, "size_bytes", size)

    @classmethod
    def of(cls, records: RecordSlice, values: pa.Table) -> Self:
        """Returns records with their values."""
        columns = {each.name: getattr(records, each.name) for each in fields(records) if each.init}
        return cls(**columns, values=values)

    def at(self, which: slice | Ints) -> Self:
        if isinstance(which, slice):
            begin, end, _ = which.indices(len(self))
            values = self.values.slice(begin, max(end - begin, 0))
        else:
            values = self.values.take(pa.array(np.asarray(which)))
        # `replace` of the part without values would make a slice that has none.
        return replace(RecordSlice.at(self, which), values=values)
