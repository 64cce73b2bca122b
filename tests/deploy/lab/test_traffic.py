"""The traffic for tests covers every unusual case, and no two of its records are equal."""

from hypothesis import given
from hypothesis import strategies as st

from deploy.lab.traffic import records


def content(record):
    return record.key, record.value, tuple(record.headers or ()), record.timestamp_ms


@given(st.integers(0, 300), st.integers(1, 9), st.integers(0, 5), st.integers(0, 300))
def test_no_two_records_are_equal_and_the_same_seed_gives_the_same(count, partitions, seed, size):
    made = list(records(count, partitions=partitions, seed=seed, value_bytes=size))
    assert len({content(record) for record in made}) == len(made) == count
    assert made == list(records(count, partitions=partitions, seed=seed, value_bytes=size))
    assert all(0 <= record.partition < partitions for record in made)


def test_records_of_two_origins_are_never_equal():
    west = {content(record) for record in records(500, origin="west")}
    east = {content(record) for record in records(500, origin="east")}
    assert not west & east


def test_absent_empty_and_filled_fields_are_all_among_them():
    made = list(records(500, first_timestamp_ms=1_357_000_000_000))
    assert {None, b""} < {record.key for record in made}
    assert {None, b""} < {record.value for record in made}
    names = [tuple(name for name, _ in record.headers or ()) for record in made]
    assert {(), ("mark",), ("same", "same", ""), ("null", "empty", "grüße")} == set(names)
    times = [record.timestamp_ms or 0 for record in made]
    assert times != sorted(times)
