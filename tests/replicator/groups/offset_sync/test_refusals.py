"""Each refused position is logged once when it begins, and once when it ends."""

import logging

from balancer.topic_partition import TopicPartition
from replicator.groups.offset_sync.region_sync import Refusals, RefusedWrites

PARTITION = TopicPartition("orders", 3)
OTHER = TopicPartition("orders", 4)


def events(caplog):
    return [line.split()[0] for line in caplog.messages]


def test_a_refusal_is_logged_when_it_begins_and_when_it_ends_and_not_between(caplog):
    refusals = Refusals()
    with caplog.at_level(logging.WARNING):
        refusals.found("billing", {PARTITION: "at 12"})
        refusals.found("billing", {PARTITION: "at 13"})
        assert (events(caplog), refusals.count) == (["event=copies-contradict"], 1)
        refusals.found("billing", {OTHER: "at 5"})
        assert (events(caplog)[1:], refusals.count) == (
            ["event=copies-contradict", "event=copies-agree"],
            1,
        )
        assert refusals.has("billing") and not refusals.has("orders")
        refusals.found("billing", {})
    assert (len(caplog.messages), refusals.count) == (4, 0)


def test_a_group_that_is_not_followed_any_more_is_not_counted():
    refusals = Refusals()
    refusals.found("billing", {PARTITION: "at 12"})
    refusals.found("orders", {PARTITION: "at 12", OTHER: "at 5"})
    refusals.only({"billing"})
    assert refusals.count == 1


def test_positions_that_brokers_refuse_are_logged_when_that_begins(caplog):
    refused = {OTHER: "NOT_NOW", PARTITION: "OFFSET_METADATA_TOO_LARGE"}
    writes = RefusedWrites()
    with caplog.at_level(logging.WARNING):
        for found in ({}, refused, refused, {}, refused):
            writes.found("billing", found)
    assert events(caplog) == ["event=position-refused"] * 2
    assert "'billing' on orders-3 stays where it is: OFFSET_METADATA_TOO_LARGE" in caplog.text
    writes.only(())
    writes.found("billing", refused)
    assert len(caplog.messages) == 3
