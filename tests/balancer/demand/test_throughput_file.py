import json

import pytest

from balancer.demand.throughput_file import BadThroughput, Throughput, read
from balancer.demand.window import Rate
from balancer.topic_partition import TopicPartition


def text(**stats):
    return json.dumps({"stats": {"west": {name.replace("_", "-"): s for name, s in stats.items()}}})


def test_the_rate_of_a_partition_overrides_that_of_its_topic():
    found = read(
        text(clicks_0="bytesInKB:15, msgIn:39", clicks="bytesInKB: 2, msgIn: 4"), "west", []
    )
    assert found.rate(TopicPartition("clicks", 0)) == Rate(15 * 1024, 39)
    assert found.rate(TopicPartition("clicks", 7)) == Rate(2 * 1024, 4)
    assert found.rate(TopicPartition("views", 0)) is None


def test_an_existing_topic_whose_name_looks_like_a_partition_is_a_topic():
    drawn = text(a_0="bytesInKB:1, msgIn:1", a_0_3="bytesInKB:2, msgIn:2")
    assert read(drawn, "west", ["a-0"]) == Throughput(
        {TopicPartition("a-0", 3): Rate(2048, 2)}, {"a-0": Rate(1024, 1)}
    )


def test_a_rate_above_two_to_the_thirty_one_kilobytes_is_refused():
    with pytest.raises(BadThroughput, match="more than any partition has"):
        read(text(a_0=f"bytesInKB:{2**31}, msgIn:1"), "west", [])


def test_both_spellings_and_fractions_of_a_kilobyte_are_read():
    found = read(text(a_0="bytesInKb: 15, msgIn:39", a_1="bytesInKB:0.5,msgIn:1"), "west", [])
    assert found.rate(TopicPartition("a", 0)) == Rate(15 * 1024, 39)
    assert found.rate(TopicPartition("a", 1)) == Rate(512, 1)


def test_a_suffix_that_is_no_partition_number_belongs_to_the_topic_name():
    found = read(text(a_00="bytesInKB:1, msgIn:1", a_9999999999="bytesInKB:1, msgIn:1"), "west", [])
    assert sorted(found.topics) == ["a-00", "a-9999999999"]


@pytest.mark.parametrize(
    ("drawn", "why"),
    [
        ("[" * 100_000, "not JSON"),
        ('{"stats": ' + "9" * 5000 + "}", "not JSON"),
        ('{"stats": {"west": {"a": "", "a": ""}}}', "a appears 2 times"),
        (text(a_0="bytesInKB:\u0661, msgIn:1"), "is not a number"),
        ("{", "not JSON"),
        ("[]", "it has no"),
        ('{"stats": {"east": {}}}', "it has no"),
        ('{"stats": {"west": 3}}', "it has no"),
        (text(a_0="15"), "a-0: '15' is not like"),
        (text(a_0=15), "a-0: 15 is not like"),
        (text(a_0="bytesInKB:-1, msgIn:1"), "a-0: '-1' is not a number"),
        (text(a_0="bytesInKB:nan, msgIn:1"), "'nan' is not a number"),
        (text(a_0="bytesInKB:1, msgIn:inf"), "'inf' is not a number"),
        (text(a_0="bytesInKB:, msgIn:1"), "'' is not a number"),
    ],
)
def test_a_malformed_file_is_refused_and_its_entry_named(drawn, why):
    with pytest.raises(BadThroughput, match=why):
        read(drawn, "west", [])
