"""Object names: each has one key, each such key is read back, and no other is taken for one."""

from __future__ import annotations

import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.objects.hive_path import encoded
from aggregator.objects.object_name import ObjectName, parsed
from tests.aggregator.objects.test_hive_path import COLUMNS

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
