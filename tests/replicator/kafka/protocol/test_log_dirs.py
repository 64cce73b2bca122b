"""DescribeLogDirs in every version that a broker may support.

The answers of a real broker are tested live (tests/live/test_log_sampler.py).
"""

import pytest

from balancer.topic_partition import TopicPartition
from replicator.kafka.protocol.log_dirs import LogDirsRequest, LogDirsStruct, log_sizes

A0, A7, B1 = TopicPartition("a", 0), TopicPartition("a", 7), TopicPartition("b", 1)
STRUCTS = {struct.API_VERSION: struct for struct in LogDirsStruct.__args__}


def asked(version, *places):
    return LogDirsRequest(places).prepare({35: (version, version)})


def answer(version, dirs, code=0):
    """Returns a broker's answer, encoded and decoded again.

    Args:
        dirs: for each directory its error code and its rows by topic.
    """
    tags = () if version == 1 else ({},)
    volume = () if version < 4 else (1 << 40, 1 << 39)
    rows = [
        (
            error,
            f"/disk{number}",
            [(t, [(*row, *tags) for row in parts], *tags) for t, parts in topics.items()],
            *volume,
            *tags,
        )
        for number, (error, topics) in enumerate(dirs)
    ]
    told = (0, code, rows) if version >= 3 else (0, rows)
    response_type = STRUCTS[version].RESPONSE_TYPE
    return response_type.decode(response_type(*told, *tags).encode())


@pytest.mark.parametrize("version", STRUCTS)
def test_a_request_names_only_the_partitions_that_are_wanted(version):
    struct = asked(version, A0, B1, A7)
    again = type(struct).decode(struct.encode())
    assert struct.__class__ is STRUCTS[version]
    assert [tuple(row[:2]) for row in again.topics] == [("a", [0, 7]), ("b", [1])]


def test_a_request_for_nothing_does_not_ask_for_everything():
    assert asked(1).encode() == b"\0\0\0\0"
    assert asked(4).encode() == b"\x01\0"


def test_the_bytes_are_those_of_the_protocol():
    assert asked(1, A7).encode() == b"\0\0\0\x01\0\x01a\0\0\0\x01\0\0\0\x07"
    assert asked(4, A7).encode() == b"\x02\x02a\x02\0\0\0\x07\0\0"


def test_the_newest_common_version_is_sent():
    for newest, spoken in ((1, 1), (2, 2), (4, 4), (5, 4)):
        assert type(LogDirsRequest([A0]).prepare({35: (0, newest)})) is STRUCTS[spoken]


@pytest.mark.parametrize("version", STRUCTS)
def test_sizes_are_those_of_all_disks(version):
    dirs = [(0, {"a": [(0, 100, 0, False)]}), (0, {"a": [(7, 1 << 40, 3, False)]}), (0, {})]
    assert log_sizes(answer(version, dirs)) == {A0: 100, A7: 1 << 40}


@pytest.mark.parametrize("version", STRUCTS)
def test_a_log_that_moves_to_another_disk_counts_with_its_present_size(version):
    dirs = [(0, {"a": [(0, 40, 60, True)]}), (0, {"a": [(0, 100, 0, False)]})]
    assert log_sizes(answer(version, dirs)) == {A0: 100}


@pytest.mark.parametrize("version", STRUCTS)
def test_a_disk_that_failed_and_a_right_that_is_missing_leave_sizes_unknown(version):
    assert log_sizes(answer(version, [(56, {}), (0, {"b": [(1, 5, 0, False)]})])) == {B1: 5}
    assert log_sizes(answer(version, [], code=31)) == {}
