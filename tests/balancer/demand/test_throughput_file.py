import json

import pytest

from balancer.demand.throughput_file import BadThroughput, Throughput, read
from balancer.demand.window import Rate
from balancer.plan import TopicPartition


def text(**stats):
    return json.dumps({"stats": {"west": {name.replace("_", "-"): s for name, s in stats.items()}}})


def test_partitions_and_topics_are_read_and_the_partition_comes_first():
    found = read(
        text(clicks_0="bytesInKB:15, msgIn:39", clicks="bytesInKB: 2, msgIn: 4"), "west", []
    )
    assert found.rate(TopicPartition("clicks", 0)) == Rate(15 * 1024, 39)
    assert found.rate(TopicPartition("clicks", 7)) == Rate(2 * 1024, 4)
    assert found.rate(TopicPartition("views", 0)) is None


def test_a_topic_whose_name_looks_like_a_partitions_is_a_topic():
    told = text(a_0="bytesInKB:1, msgIn:1", a_0_3="bytesInKB:2, msgIn:2")
    assert read(told, "west", ["a-0"]) == Throughput(
        {TopicPartition("a-0", 3): Rate(2048, 2)}, {"a-0": Rate(1024, 1)}
    )


def test_more_than_two_to_the_thirty_one_kilobytes_is_refused_and_not_wrapped():
    with pytest.raises(BadThroughput, match="more than any partition has"):
        read(text(a_0=f"bytesInKB:{2**31}, msgIn:1"), "west", [])


def test_it_is_read_as_the_source_writes_it_and_with_parts_of_a_kilobyte():
    found = read(text(a_0="bytesInKb: 15, msgIn:39", a_1="bytesInKB:0.5,msgIn:1"), "west", [])
    assert found.rate(TopicPartition("a", 0)) == Rate(15 * 1024, 39)
    assert found.rate(TopicPartition("a", 1)) == Rate(512, 1)


def test_what_is_no_partitions_number_belongs_to_a_topics_name():
    found = read(text(a_00="bytesInKB:1, msgIn:1", a_9999999999="bytesInKB:1, msgIn:1"), "west", [])
    assert sorted(found.topics) == ["a-00", "a-9999999999"]


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("[" * 100_000, "not JSON"),
        ('{"stats": ' + "9" * 5000 + "}", "not JSON"),
        ('{"stats": {"west": {"a": "", "a": ""}}}', "a stands there 2 times"),
        (text(a_0="bytesInKB:\u0661, msgIn:1"), "is not a number"),
        ("{", "not JSON"),
        ("[]", "there is no"),
        ('{"stats": {"east": {}}}', "there is no"),
        ('{"stats": {"west": 3}}', "there is no"),
        (text(a_0="15"), "a-0: '15' is not like"),
        (text(a_0=15), "a-0: 15 is not like"),
        (text(a_0="bytesInKB:-1, msgIn:1"), "a-0: '-1' is not a number"),
        (text(a_0="bytesInKB:nan, msgIn:1"), "'nan' is not a number"),
        (text(a_0="bytesInKB:1, msgIn:inf"), "'inf' is not a number"),
        (text(a_0="bytesInKB:, msgIn:1"), "'' is not a number"),
    ],
)
def test_what_is_written_otherwise_is_named_and_nothing_is_taken(told, why):
    with pytest.raises(BadThroughput, match=why):
        read(told, "west", [])
