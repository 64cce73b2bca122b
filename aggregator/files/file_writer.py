"""File writer: the interface of all file formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from aggregator.files.decoding import Decode
from aggregator.formats.record_slice import RecordSlice


class FileWriter(Protocol):
    """Writer of one file. The same records become the same bytes, however they come in."""

    def write(self, slices: Sequence[RecordSlice]) -> bytes:
        """Takes further records in; returns the bytes of the file that are complete."""

    def finish(self) -> bytes:
        """Returns the last bytes."""

    @property
    def size_bytes(self) -> int:
        """Memory of the records whose bytes were not returned yet."""

    @property
    def schema(self) -> str:
        """Id of the schema of the file's values; empty for none."""

    @property
    def decode(self) -> Decode | None:
        """Decoder of records, which has to come first; None: the values are written as they
        are."""
