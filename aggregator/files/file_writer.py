"""File writer: the interface of all file formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, Self

from aggregator.files.decoding import REASON_CHARACTERS_MAX, Decode
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

    def forming_bytes(self, slices: Sequence[RecordSlice] = ()) -> int:
        """Returns the memory of other forms of the records while these are written; without any,
        while the file is finished."""

    @property
    def schema(self) -> str:
        """Id of the schema of the file's values; empty for none."""

    @property
    def decode(self) -> Decode | None:
        """Decoder of records, which has to come first; None: the values are written as they
        are."""

    def scratch(self) -> Self:
        """Returns a writer of another file of the same kind, in which nothing is written yet."""


def unwritable(writer: FileWriter, records: RecordSlice) -> dict[int, str]:
    """Returns why records cannot be in a file, by index: those that a writer refuses alone.

    The records are written for nothing, into scratch files.
    """
    return dict(_refused(writer, records, 0))


def _refused(writer: FileWriter, records: RecordSlice, first: int) -> Iterator[tuple[int, str]]:
    """Yields the indexes of refused records, found by halving.

    Args:
        first: index of the first record.
    """
    try:
        scratch = writer.scratch()
        scratch.write([records])
        scratch.finish()
    except (MemoryError, SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # a panic of a native library is no Exception
        if len(records) == 1:
            what = f"cannot be written: {type(error).__name__}: {error}"
            yield first, what[:REASON_CHARACTERS_MAX]
            return
        middle = len(records) // 2
        yield from _refused(writer, records.at(slice(0, middle)), first)
        yield from _refused(writer, records.at(slice(middle, None)), first + middle)
