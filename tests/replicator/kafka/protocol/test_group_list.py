"""ListGroups in every version of a broker; tests/live/test_groups.py asks a real one."""

import pytest

from replicator.kafka.protocol.group_list import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse_v4,
    ListGroupsResponse_v5,
    listed_groups,
)

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


def answer(version: int) -> dict[str, ListedGroup]:
    response_type = {4: ListGroupsResponse_v4, 5: ListGroupsResponse_v5}[version]
    rows = [(*(row if version == 5 else row[:3]), {}) for row in ROWS]
    return listed_groups(response_type.decode(response_type(0, 0, rows, {}).encode()))


def test_groups_of_every_type_are_listed():
    types = {name: group.type for name, group in answer(5).items()}
    assert types == {row[0]: row[3].lower() for row in ROWS}


def test_an_older_broker_tells_types_by_the_members_protocol():
    types = {name: group.type for name, group in answer(4).items()}
    assert types["totals"] == "streams" and types["prices"] == "share"
    assert {types[name] for name in ("billing", "sink", "at rest")} == {"classic"}


@pytest.mark.parametrize("version", [4, 5])
def test_only_empty_and_dead_groups_have_no_members(version):
    assert {name for name, it in answer(version).items() if not it.has_members} == {
        "at rest",
        "gone",
    }


@pytest.mark.parametrize("version", [4, 5])
def test_nothing_is_filtered(version):
    asked = ListGroupsRequest().prepare({16: (0, version)})
    assert version == asked.API_VERSION
    assert asked.encode() == (b"\1\0" if version == 4 else b"\1\1\0")
