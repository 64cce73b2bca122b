"""Object file: readers that seek get the bytes of an object, and only these are asked for."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest

from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_file import ObjectFile
from tests.aggregator.restore.kept_objects import KeptObjects


@pytest.fixture
def store():
    store = KeptObjects()
    store.data["key"] = bytes(range(100))
    return store


@pytest.fixture
def file(store):
    return ObjectFile(store, "key", 100)


def test_reads_are_of_the_range_that_was_sought(store, file):
    assert (file.read(5), file.tell()) == (bytes(range(5)), 5)
    assert file.seek(-3, os.SEEK_END) == 97
    assert (file.read(), file.read(9), file.tell()) == (bytes((97, 98, 99)), b"", 100)
    file.seek(10)
    file.seek(2, os.SEEK_CUR)
    assert file.read(1) == b"\x0c"
    assert store.ranges == [("key", 0, 5), ("key", 97, 3), ("key", 12, 1)]


def test_nothing_is_behind_the_end(store, file):
    file.seek(200)
    assert file.read(5) == b"" and not store.ranges


def test_a_problem_of_the_store_reaches_the_reader_as_it_is(store, file):
    store.problems.append(StoreProblem(Answer.BUSY, "503", "wait"))
    with pytest.raises(StoreProblem, match="503"):
        pa.PythonFile(file, "r").read(5)
