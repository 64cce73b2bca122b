"""Object copy: an object on this machine's disk, compared with its manifest before it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from crc32c import crc32c

from aggregator.formats.record_fields import split
from aggregator.objects.record_digest import RecordDigest
from aggregator.objects.told_object import ToldObject
from aggregator.restore.column_records import COLUMNS, lacking, records_of
from aggregator.restore.restore_plan import CannotRestore
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.busy_store import until_answered
from aggregator.s3.object_store import ObjectStore
from replicator.runtime.clock import sleep


def chunks_of(
    store: ObjectStore,
    told: ToldObject,
    folder: Path,
    pause: Callable[[float], None] = sleep,
) -> Iterator[pa.Table]:
    """Copies an object into a folder, and yields its records chunk by chunk. Blocking.

    Args:
        pause: called with the seconds before the next attempt.

    Raises:
        CannotRestore: the object is not the one that was told.
        StoreProblem: the store gives no answer.
    """
    path = folder / f"{told.partition}-{told.begin}-{crc32c(told.key.encode()):08x}"
    try:
        _copy(store, told, path, pause)
        with pq.ParquetFile(path) as file:
            _check(file, told)
            yield from _chunks(file)
    except pa.ArrowException as error:
        raise CannotRestore(f"{told.key} cannot be read as Parquet: {error}") from error
    finally:
        path.unlink(missing_ok=True)


def _copy(store: ObjectStore, told: ToldObject, path: Path, pause: Callable[[float], None]) -> None:
    try:
        size, crc = until_answered(lambda: _copied(store, told.key, path), pause)
    except StoreProblem as problem:
        if problem.answer is not Answer.ABSENT:
            raise
        raise CannotRestore(
            f"{told.key} is not in the store; bring it back, or name a range without it"
        ) from problem
    if (size, crc) != (told.size_bytes, told.crc32c):
        raise _differs(
            told,
            f"{size} bytes and the CRC-32C {crc:08x}, not {told.size_bytes} and {told.crc32c:08x}",
        )


def _copied(store: ObjectStore, key: str, path: Path) -> tuple[int, int]:
    """Returns the size and the CRC-32C of what was copied."""
    size = crc = 0
    with path.open("wb") as file:
        for piece in store.pieces(key):
            file.write(piece)
            size, crc = size + len(piece), crc32c(piece, crc)
    return size, crc


def _check(file: pq.ParquetFile, told: ToldObject) -> None:
    """Compares the records with the manifest's digest: they are encoded again for that."""
    if (name := lacking(file.schema_arrow)) is not None:
        raise CannotRestore(
            f"{told.key} has no column {name} of the bytes as they were: only Parquet with key, "
            "value and headers as bytes can be restored; name a range without this object"
        )
    digest, last = RecordDigest(), told.begin - 1
    for chunk in _chunks(file):
        records = records_of(chunk)
        if (np.diff(records.offset, prepend=last) <= 0).any() or records.offset[-1] >= told.end:
            raise _differs(told, "records in another order, or outside of its range")
        last = int(records.offset[-1])
        digest.add([split(records)])
    # An object that was listed only has none.
    if told.digest and digest.text != told.digest:
        text = f"records with the digest {digest.text}, told was {told.digest}"
        raise _differs(told, f"{text} (names of headers that are not UTF-8 are not kept)")


def _chunks(file: pq.ParquetFile) -> Iterator[pa.Table]:
    for number in range(file.num_row_groups):
        chunk = file.read_row_group(number, columns=list(COLUMNS))
        if len(chunk):
            yield chunk


def _differs(told: ToldObject, text: str) -> CannotRestore:
    return CannotRestore(
        f"{told.key} has {text}: bring the object back, or name a range without it"
    )
