"""Records are found where their lengths say, whatever is in them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from replicator.batches import record_begins as module
from replicator.batches.batch import HEADER_BYTES
from replicator.batches.record_begins import at_once, one_by_one, record_begins
from tests.replicator.batches.source_batches import Record, encoded

NASTY = st.binary(max_size=6) | st.sampled_from(
    [b"\0" * 5, b"\x80\x01\0", b"\x02\0\x02\0", b"\xff"]
)
VALUES = st.lists(st.none() | NASTY | st.binary(min_size=120, max_size=140), min_size=1)


def payload(values):
    records = [Record(at, at, None, value, ()) for at, value in enumerate(values)]
    return bytes(encoded(records)[HEADER_BYTES:])


@given(VALUES)
@example([b"x" * 200] * 300)
@example([b"", b"\x02\0\x02\0" * 30] * 3)
@example([b"y" * 9000, b"y" * 70])
def test_what_is_found_at_once_is_what_the_lengths_say(values):
    data = payload(values)
    right = one_by_one(data, 0, len(values))
    found = at_once(np.frombuffer(data, np.uint8), len(values))
    assert found is None or found.tolist() == right.tolist()
    if not any(value and b"\0" in value for value in values):
        assert found is not None


@given(VALUES, VALUES)
def test_ranges_are_found_each_by_itself(left, right):
    one, two = payload(left), payload(right)
    limits = np.array([0, len(one) + 3]), np.array([len(one), len(one) + 3 + len(two)])
    counts = np.array([len(left), len(right)])
    found = record_begins(one + b"gap" + two, *limits, counts)
    assert found[: len(left)].tolist() == one_by_one(one, 0, len(left)).tolist()
    assert (found[len(left) :] - len(one) - 3).tolist() == one_by_one(two, 0, len(right)).tolist()


@given(st.binary(max_size=60), st.integers(1, 5))
def test_broken_data_is_not_found_at_once_unless_its_lengths_add_up(data, count):
    found = at_once(np.frombuffer(data, np.uint8), count)
    if found is not None:
        assert found.tolist() == one_by_one(data, 0, count).tolist()


def test_many_records_are_not_read_one_by_one(monkeypatch):
    monkeypatch.setattr(module, "one_by_one", lambda *_: pytest.fail("read one by one"))
    data = payload([b"document"] * module.MANY)
    size = np.array([len(data)])
    assert len(record_begins(data, np.array([0]), size, np.array([module.MANY]))) == module.MANY
