"""Object names, and the folders within them."""

from __future__ import annotations

import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.objects.hive_path import columns_of, encoded
from aggregator.objects.object_name import ObjectName, parsed

# -- Encoded partitions: columns that are read back from their folders, escaped as Hive does.

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
COLUMNS = st.lists(st.tuples(TEXT, st.none() | TEXT), min_size=1, max_size=3)


@given(COLUMNS)
def test_columns_are_read_back_from_their_folders(columns):
    path = encoded(columns)
    assert columns_of(path) == columns
    assert all(folder.count("=") == 1 for folder in path.split("/"))
    assert path.count("/") == len(columns) - 1


@pytest.mark.parametrize(
    ("columns", "path"),
    [
        ([("carrier", "UA")], "carrier=UA"),
        ([("a/b", "x=y%z")], "a%2Fb=x%3Dy%25z"),
        ([("to", ".."), ("at", None)], "to=../at=__HIVE_DEFAULT_PARTITION__"),
        ([("to", "")], "to=__HIVE_DEFAULT_PARTITION__"),
        ([("city", "Zürich\n")], "city=Zürich%0A"),
    ],
)
def test_values_are_escaped_as_hive_does(columns, path):
    assert encoded(columns) == path


def test_a_folder_of_another_form_is_refused():
    with pytest.raises(ValueError, match="'b' is no folder of the form name=value"):
        columns_of("a=1/b")


# -- Object names: each has one key, each such key is read back, and no other is taken for one.

TOPIC = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=20)


@given(
    st.sampled_from(["", "lake", "a/b"]),
    TOPIC,
    COLUMNS,
    st.integers(0, 10_000),
    st.integers(0, 1 << 62),
    st.sampled_from(["avro", "snappy.parquet", "json.gz"]),
    st.integers(1, 19),
    st.sampled_from([0, 1, 1_764_288_000_000]),
)
def test_a_name_is_read_back_from_its_key(
    prefix, topic, columns, partition, begin, ext, digits, incarnation
):
    name = ObjectName(
        prefix=prefix,
        topic=topic,
        encoded_partition=encoded(columns),
        partition=partition,
        begin=begin,
        extension=ext,
        digits=max(digits, len(str(begin))),
        incarnation=incarnation,
    )
    assert parsed(name.key, prefix) == name


def test_names_are_those_of_confluents_sink():
    name = ObjectName(
        prefix="topics",
        topic="flights",
        encoded_partition="partition=3",
        partition=3,
        begin=180,
        extension="avro",
    )
    assert name.key == "topics/flights/partition=3/flights+3+0000000180.avro"


def test_objects_of_two_logs_with_the_same_offsets_have_two_names():
    key = "topics/flights/partition=3/flights+3+0000000180+1764288000000.avro"
    name = parsed(key, "topics")
    assert name is not None and name.incarnation == 1_764_288_000_000
    assert replace(name, incarnation=0).key == key.replace("+1764288000000", "")


@pytest.mark.parametrize(
    "key",
    [
        "other/flights/partition=3/flights+3+0000000180.avro",
        "topics/flights/partition=3/planes+3+0000000180.avro",
        "topics/flights/partition=3/flights+3+180.",
        "topics/flights/_SUCCESS",
        "topics/flights/partition=3/flights+03+0000000180.avro",
        "topics/flights/partition=3/flights+3+0000000180+0.avro",
        "topics/flights/partition=3/flights+3+0000000180+05.avro",
        "topics",
    ],
)
def test_a_key_of_another_shape_is_not_ours(key):
    assert parsed(key, "topics") is None
