"""Mirrored topics are audited; a topic that is not mirrored is refused by name, with the reason."""

from __future__ import annotations

from uuid import NAMESPACE_DNS, uuid5

import pytest

from replicator.audit.route_topics import (
    KNOWN_MAX,
    NotMirrored,
    RouteTopic,
    chosen,
    some_of,
    target_topics,
)
from replicator.config.settings import TopicSettings
from replicator.config.topology import Route
from replicator.kafka.admin.topic import Configs, Topic

WEST, EAST = Route("west", "east"), Route("east", "east")


def topic(name: str, partitions: int = 3, **own: str) -> Topic:
    values = {"cleanup.policy": "delete"} | {k.replace("_", "."): v for k, v in own.items()}
    return Topic(name, uuid5(NAMESPACE_DNS, name), partitions, Configs(values))


SOURCES = {
    WEST: [topic("orders"), topic("new"), topic("secret")],
    EAST: [topic("orders", 2), topic("east-only"), topic("__consumer_offsets")],
}
THERE = [topic("orders", 2, cleanup_policy="delete"), topic("east-only", cleanup_policy="compact")]
SETTINGS = TopicSettings(deny=("secret",))
FOUND = target_topics(SOURCES, THERE, SETTINGS)


def names(found: list[RouteTopic]) -> list[tuple[str, str]]:
    return [(each.route.name, each.topic) for each in found]


def test_every_route_that_feeds_a_topic_is_audited_by_itself() -> None:
    found = chosen([FOUND], [WEST, EAST], [], is_all_known=True)
    assert names(found) == [
        ("east>east", "east-only"),
        ("east>east", "orders"),
        ("west>east", "new"),
        ("west>east", "orders"),
    ]
    east_only, orders_of_east, new, orders = found
    assert (east_only.compacts, orders.compacts) == (True, False)
    assert (orders.partitions, orders.mirrored, orders_of_east.mirrored) == (3, 2, 2)
    assert (new.mirrored, new.target_topic) == (0, None)
    assert [each.partition for each in orders.topic_partitions] == [0, 1, 2]


def test_a_topic_is_searched_on_the_requested_routes() -> None:
    assert names(chosen([FOUND], [WEST, EAST], ["orders"], is_all_known=True)) == [
        ("east>east", "orders"),
        ("west>east", "orders"),
    ]
    with pytest.raises(NotMirrored) as refused:
        chosen([FOUND], [WEST], ["east-only"], is_all_known=True)
    assert str(refused.value) == (
        "no topic 'east-only' is mirrored on west>east; known: new, orders"
    )


def test_a_topic_that_is_left_out_on_purpose_is_refused_with_the_reason() -> None:
    with pytest.raises(NotMirrored, match="'secret' is not mirrored .* denied: not in allow"):
        chosen([FOUND], [WEST], ["secret"], is_all_known=True)


def test_while_a_cluster_is_away_no_topic_is_refused() -> None:
    assert chosen([FOUND], [WEST], ["unheard"], is_all_known=False) == []


def test_some_of_many_known_names_are_shown() -> None:
    assert some_of([]) == "none"
    assert some_of(["a", "b"]) == "a, b"
    assert some_of(["t"] * (KNOWN_MAX + 3)).endswith("t and 3 more")
