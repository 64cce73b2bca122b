"""ListGroups: the groups of every type that a broker coordinates, with their states (KIP-848).

librdkafka leaves out groups whose members speak neither the classic consumer protocol nor that of
KIP-848: groups of Kafka Streams (KIP-1071), share groups (KIP-932), and workers of Connect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import CompactArray, CompactString, Int16, Int32, Schema

from replicator.kafka.protocol.fields import TAGS, Field, rows

MEMBERLESS = frozenset({"Empty", "Dead"})
"""States of groups without members; every other state, also one that came later, has some."""


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """Group as its coordinator lists it.

    Args:
        type: classic, consumer, streams or share; a later broker may have further types.
        state: such as Stable or Empty.
    """

    name: str
    type: str
    state: str

    @property
    def has_members(self) -> bool:
        return self.state not in MEMBERLESS


def _listed(*more: Field) -> Schema:
    group = ("group_id", CompactString()), ("protocol_type", CompactString())
    groups = rows("groups", *group, ("group_state", CompactString()), *more)
    return Schema(("throttle_time_ms", Int32), ("error_code", Int16), groups, TAGS)


class ListGroupsResponse_v4(Response):  # noqa: N801
    API_KEY = 16
    API_VERSION = 4
    SCHEMA = _listed()


class ListGroupsResponse_v5(Response):  # noqa: N801
    API_KEY = 16
    API_VERSION = 5
    SCHEMA = _listed(("group_type", CompactString()))


class ListGroupsStruct_v4(RequestStruct):  # noqa: N801
    API_KEY = 16
    API_VERSION = 4
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = ListGroupsResponse_v4
    SCHEMA = Schema(("states_filter", CompactArray(CompactString())), TAGS)


class ListGroupsStruct_v5(RequestStruct):  # noqa: N801
    API_KEY = 16
    API_VERSION = 5
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = ListGroupsResponse_v5
    SCHEMA = Schema(
        ("states_filter", CompactArray(CompactString())),
        ("types_filter", CompactArray(CompactString())),
        TAGS,
    )


class ListGroupsRequest(Request[ListGroupsStruct_v4 | ListGroupsStruct_v5]):
    """All groups that the broker coordinates and we may describe, whatever their type and state."""

    API_KEY = 16

    def build(
        self, request_struct_class: type[ListGroupsStruct_v4 | ListGroupsStruct_v5]
    ) -> ListGroupsStruct_v4 | ListGroupsStruct_v5:
        # Empty lists filter nothing.
        if request_struct_class is ListGroupsStruct_v4:
            return request_struct_class([], {})
        return request_struct_class([], [], {})


def listed_groups(response: Any) -> dict[str, ListedGroup]:
    """Returns the groups of an answer, by name.

    A broker before version 5 has no types; there the members' protocol gives it. Groups that are
    no consumers, such as the workers of Connect, and those with commits alone are classic.
    """
    found = {}
    for name, protocol, state, *more in response.groups:
        told = str(more[0]).lower() if response.API_VERSION >= 5 else ""
        by_protocol = protocol if protocol in ("share", "streams") else "classic"
        found[name] = ListedGroup(name, told or by_protocol, state)
    return found
