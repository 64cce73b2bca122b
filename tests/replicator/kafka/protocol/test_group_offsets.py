"""Groups and their offsets, as brokers of every version list and answer them."""

import pytest
from aiokafka.protocol.types import CompactString, Int16, Int32, Int64, Schema

from replicator.kafka.protocol.fields import TAGS, by_topic, rows
from replicator.kafka.protocol.frame import Frame
from replicator.kafka.protocol.group_list import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse_v4,
    ListGroupsResponse_v5,
    listed_groups,
)
from replicator.kafka.protocol.group_offsets import (
    GroupOffsets,
    GroupOffsetsRequest,
    GroupOffsetsResponse,
    PendingOffsetsRequest,
)

# -- OffsetFetch of many groups at once: the request's bytes, and answers of a broker.
#
# The answers of a real broker are tested live (tests/live/test_group_questions.py).

ANSWER = Schema(
    ("throttle_time_ms", Int32),
    rows(
        "groups",
        ("group_id", CompactString()),
        by_topic(
            "topics",
            ("partition", Int32),
            ("offset", Int64),
            ("leader_epoch", Int32),
            ("metadata", CompactString()),
            ("error_code", Int16),
        ),
        ("error_code", Int16),
    ),
    TAGS,
)


def answer(*groups, throttle_time_ms=0):
    """Returns an answer, encoded by aiokafka's types and decoded by ours."""
    encoded = ANSWER.encode((throttle_time_ms, list(groups), {}))
    return GroupOffsetsResponse.decode(Frame(memoryview(bytearray(encoded))))


def row(partition, offset, metadata="", code=0, tags=None):
    return (partition, offset, 5, metadata, code, tags or {})


def test_the_request_asks_for_everything_that_the_groups_have_committed():
    struct = GroupOffsetsRequest(["g", "h"]).prepare({9: (0, 9)})
    assert (struct.API_VERSION, struct.FLEXIBLE_VERSION) == (8, True)
    assert struct.encode() == b"\x03\x02g\x00\x00\x02h\x00\x00\x00\x00"


def test_the_request_for_pending_offsets_asks_for_stable_ones():
    struct = PendingOffsetsRequest("g", [("t", [3])]).prepare({9: (0, 9)})
    assert (struct.API_VERSION, struct.FLEXIBLE_VERSION) == (8, True)
    assert struct.encode() == b"\x02\x02g\x02\x02t\x02\x00\x00\x00\x03\x00\x00\x01\x00"


def test_commits_are_read_by_group_and_topic():
    long_text = "x" * 300
    found = answer(
        ("g", [("orders", [row(0, 7), row(63, 1 << 40, long_text)], {})], 0, {}),
        ("h", [("a", [row(1, 2)], {}), ("b", [row(2, 3, None)], {})], 0, {}),
        throttle_time_ms=12,
    )
    assert found.throttle_time_ms == 12
    assert found.groups == {
        "g": GroupOffsets(0, {"orders": [(0, 7), (63, 1 << 40)]}),
        "h": GroupOffsets(0, {"a": [(1, 2)], "b": [(2, 3)]}),
    }


def test_a_partition_without_a_commit_and_one_with_an_error_are_left_out():
    found = answer(("g", [("t", [row(0, -1), row(1, 5, code=3), row(2, 6)], {})], 0, {}))
    assert found.groups["g"].commits == {"t": [(2, 6)]}


def test_partitions_with_an_error_are_named():
    found = answer(("g", [("t", [row(0, -1, code=88), row(1, 5)], {})], 0, {})).groups["g"]
    assert (found.refused, found.commits) == ({("t", 0): 88}, {"t": [(1, 5)]})


def test_a_group_of_another_coordinator_has_an_error_and_no_commits():
    assert answer(("g", [], 16, {}), ("h", None, 16, {})).groups == {
        "g": GroupOffsets(16, {}),
        "h": GroupOffsets(16, {}),
    }


def test_fields_of_later_versions_are_skipped():
    encoded = ANSWER.encode((0, [("g", [("t", [row(0, 7)], {})], 0, {})], {}))
    # The last byte is the number of tags of the whole answer: one tag of two bytes instead.
    tagged = encoded[:-1] + b"\x01\x05\x02ab"
    assert GroupOffsetsResponse.decode(tagged).groups["g"].commits == {"t": [(0, 7)]}


# -- ListGroups in every version of a broker; tests/live/test_groups.py asks a real one.

ROWS = [
    ("billing", "consumer", "Stable", "Classic"),
    ("orders", "consumer", "Reconciling", "Consumer"),
    ("totals", "streams", "NotReady", "Streams"),
    ("prices", "share", "Stable", "Share"),
    ("sink", "connect", "Stable", "Classic"),
    ("at rest", "", "Empty", "Classic"),
    ("gone", "consumer", "Dead", "Consumer"),
    ("later", "queue", "Waiting", "Queue"),
]


def listed(version: int) -> dict[str, ListedGroup]:
    response_type = {4: ListGroupsResponse_v4, 5: ListGroupsResponse_v5}[version]
    rows = [(*(row if version == 5 else row[:3]), {}) for row in ROWS]
    return listed_groups(response_type.decode(response_type(0, 0, rows, {}).encode()))


def test_groups_of_every_type_are_listed():
    types = {name: group.type for name, group in listed(5).items()}
    assert types == {row[0]: row[3].lower() for row in ROWS}


def test_an_older_broker_tells_types_by_the_members_protocol():
    types = {name: group.type for name, group in listed(4).items()}
    assert types["totals"] == "streams" and types["prices"] == "share"
    assert {types[name] for name in ("billing", "sink", "at rest")} == {"classic"}


@pytest.mark.parametrize("version", [4, 5])
def test_only_empty_and_dead_groups_have_no_members(version):
    assert {name for name, it in listed(version).items() if not it.has_members} == {
        "at rest",
        "gone",
    }


@pytest.mark.parametrize("version", [4, 5])
def test_nothing_is_filtered(version):
    asked = ListGroupsRequest().prepare({16: (0, version)})
    assert version == asked.API_VERSION
    assert asked.encode() == (b"\1\0" if version == 4 else b"\1\1\0")
