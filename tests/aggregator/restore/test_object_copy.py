"""Object copy: only an object that is the one that was told is read."""

from __future__ import annotations

import io
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crc32c import crc32c

from aggregator.restore.object_copy import chunks_of
from aggregator.restore.restore_plan import CannotRestore
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.busy_store import ATTEMPTS
from tests.aggregator.restore.kept_objects import KeptObjects, names
from tests.replicator.batches.source_batches import Record

RECORDS = [
    Record(at, 1_000 + at, b"%d" % at if at % 3 else None, b"value" * at or None, (("h", None),))
    for at in (5, 6, 9, 10, 11, 30)
]


@pytest.fixture
def store() -> KeptObjects:
    return KeptObjects()


@pytest.fixture
def told(store):
    return store.write(RECORDS)


def test_records_are_read_chunk_by_chunk_and_nothing_stays_on_the_disk(store, told, tmp_path):
    chunks = chunks_of(store, told, tmp_path)
    first = next(chunks)
    assert len(names(tmp_path)) == 1
    rest = list(chunks)
    assert len(rest) > 1
    offsets = [at for each in [first, *rest] for at in each["offset"].to_pylist()]
    assert offsets == [each.offset for each in RECORDS]
    assert names(tmp_path) == []
    chunks = chunks_of(store, told, tmp_path)
    next(chunks)
    chunks.close()
    assert names(tmp_path) == []


def refusal(store, told, folder) -> str:
    with pytest.raises(CannotRestore) as refused:
        list(chunks_of(store, told, folder))
    assert names(folder) == []
    assert told.key in str(refused.value)
    return str(refused.value)


def test_each_object_that_is_another_one_is_refused_by_name(store, told, tmp_path):
    assert "CRC-32C" in refusal(store, replace(told, crc32c=1), tmp_path)
    assert "CRC-32C" in refusal(store, replace(told, size_bytes=1), tmp_path)
    assert "the digest" in refusal(store, replace(told, digest="00"), tmp_path)
    assert "outside of its range" in refusal(store, replace(told, begin=6), tmp_path)
    assert "outside of its range" in refusal(store, replace(told, end=30), tmp_path)


def with_content(store, told, data: bytes):
    store.data[told.key] = data
    return replace(told, size_bytes=len(data), crc32c=crc32c(data))


def test_files_of_other_columns_are_refused(store, told, tmp_path):
    content = io.BytesIO()
    pq.write_table(pa.table({"key": ["text"], "offset": [5]}), content)
    other = with_content(store, told, content.getvalue())
    assert "has no column key of the bytes" in refusal(store, other, tmp_path)
    assert "as Parquet" in refusal(store, with_content(store, told, b"PAR1"), tmp_path)


def test_a_store_that_cannot_answer_now_is_asked_again(store, told, tmp_path):
    pauses = []
    store.problems = [StoreProblem(Answer.BUSY, "SlowDown")] * (ATTEMPTS - 1)
    assert list(chunks_of(store, told, tmp_path, pauses.append))
    assert len(pauses) == ATTEMPTS - 1
    store.problems = [StoreProblem(Answer.BUSY, "SlowDown")] * ATTEMPTS
    with pytest.raises(StoreProblem):
        list(chunks_of(store, told, tmp_path, pauses.append))
    store.problems = [StoreProblem(Answer.DENIED, "no")]
    with pytest.raises(StoreProblem):
        list(chunks_of(store, told, tmp_path, pauses.append))
    assert not store.problems
    store.problems = [StoreProblem(Answer.ABSENT, "gone")]
    assert "is not in the store" in refusal(store, told, tmp_path)
