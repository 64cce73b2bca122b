"""Flaws: contents that our commands never write are named, and records that they write have
none."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.topic_partition import TopicPartition
from replicator.orders.flaws import flaw
from replicator.orders.order_records import Freeze, Placed, SkipReplay, Stream, by_carrier
from tests.replicator.orders.test_order_records import OF_FEED, RECORDS, SAID

STREAM = Stream(**SAID, name="own", topics=("a.*",), first_carrier=1000)
PLACED = Placed(**SAID, stream="s", generation=1, carriers=(0,), topics={0: (("t", (0, 1)),)})
places = st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 99))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"topics": ("a", "(")}, r"topics: '\(': not an RE2 pattern"),
        ({"topics": ("(?=x)",)}, "topics: "),
        ({"topics": ("((a{1000}){1000}){1000}",)}, "topics: "),
        ({"topics": ("",)}, "topics: ''"),
        ({"topics": ()}, "topics: there is no pattern"),
        ({"name": "default"}, "name: "),
        ({"name": "a\nb"}, "name: "),
        ({"first_carrier": 0}, "first_carrier: 0"),
        ({"first_carrier": 1500}, "first_carrier: 1500"),
        ({"threshold": -1.0}, "threshold: "),
        ({"threshold": float("nan")}, "threshold: "),
        ({"partitions_max": 0}, "partitions_max: "),
        ({"memory_mib": 5}, "memory_mib: "),
    ],
)
def test_the_flaw_of_a_stream_is_named_with_its_field(change, said):
    assert re.match(said, str(flaw(STREAM.model_copy(update=change))))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"carriers": ()}, "carriers: there is none"),
        ({"carriers": (1,)}, "carrier 0 is not among the carriers"),
        ({"topics": {0: (("t", (0, 0)),)}}, "t-0 is there twice"),
        ({"carriers": (0, 1), "topics": {0: (("t", (0,)),), 1: (("t", (0,)),)}}, "t-0 is there"),
    ],
)
def test_the_flaw_of_a_placement_is_named_with_its_field(change, said):
    assert said in str(flaw(PLACED.model_copy(update=change)))


BLOCK = SkipReplay(
    **OF_FEED, cluster="west regional", topic="t", partition=0, table="hits", begin=1, end=2
)


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (Freeze(**SAID), "route: a feed's name is lower-case"),
        (Freeze(**{**SAID, "route": "x" * 61}), "route: a feed's name has at most 60"),
        (Freeze(**OF_FEED, partition=0), "partition: names no topic"),
        (Freeze(**OF_FEED, table=""), "table: is empty"),
        (Freeze(**OF_FEED, topic=""), "topic: is empty"),
        (Freeze(**OF_FEED, cluster="west"), "cluster: a cluster is named"),
        (BLOCK.model_copy(update={"cluster": "west"}), "cluster: a cluster is named"),
        (BLOCK.model_copy(update={"begin": 2}), "end: 2 is not behind begin (2)"),
    ],
)
def test_the_flaw_of_an_order_about_a_feed_is_named_with_its_field(order, said):
    assert str(flaw(order)).startswith(said)


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_of_ours_has_no_flaw(record):
    assert flaw(record) is None


@given(st.dictionaries(places, st.integers(0, 4)))
def test_a_placement_of_the_balancer_has_no_flaw(where):
    topics = by_carrier(where.items())
    placed = Placed(**SAID, stream="s", generation=1, carriers=tuple(range(5)), topics=topics)
    assert flaw(placed) is None
