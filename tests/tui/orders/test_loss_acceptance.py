"""Acceptance of losses without a cluster: selection, refusals and the report."""

import asyncio
from dataclasses import replace

import pytest

from balancer.plan import TopicPartition
from replicator.mirror.repair.accept_loss import NO_ENTRY, Accepted, Parked
from tui.orders.loss_acceptance import BadAcceptance, LossRequest, accept_losses

ONE, TWO = TopicPartition("flights", 0), TopicPartition("flights", 1)
REQUEST = LossRequest(
    topics=frozenset(["flights"]),
    partitions=frozenset(),
    restart_at=None,
    is_accepting=True,
    timeout_seconds=5.0,
)


class PretendAcceptance:
    """Acceptance with two parked partitions; one has no leader when it is to be accepted."""

    trouble = ""
    bytes_read = 0

    def __init__(self, *_: object):
        self.left: dict[TopicPartition, str] = {}

    async def open(self, topics):
        self.topics = topics

    async def close(self):
        pass

    async def unknown(self, topics):
        return sorted(set(topics) - {"flights"})

    async def parked(self, topics):
        return [Parked(partition, None, NO_ENTRY) for partition in (ONE, TWO)]

    async def accept(self, parked, restart_at):
        self.left = {TWO: "no leader in the target"}
        return [Accepted(ONE, ("source batch cannot be read",), 7)]


def accepted(acceptance: PretendAcceptance, request: LossRequest):
    return asyncio.run(accept_losses(acceptance, request))


def test_a_misspelt_topic_is_refused_by_its_name():
    topics = frozenset(["flights", "fligths"])
    with pytest.raises(BadAcceptance, match="nor ever mirrored on this route: fligths"):
        accepted(PretendAcceptance(), replace(REQUEST, topics=topics))


def test_parked_partitions_are_only_shown_unless_they_are_to_be_accepted():
    report = accepted(PretendAcceptance(), replace(REQUEST, is_accepting=False))
    assert [each.partition for each in report.parked] == [ONE, TWO]
    one = replace(REQUEST, is_accepting=False, partitions=frozenset([1]))
    assert [each.partition for each in accepted(PretendAcceptance(), one).parked] == [TWO]
    none = replace(REQUEST, partitions=frozenset([7]))
    report = accepted(PretendAcceptance(), none)
    assert (report.parked, report.accepted, report.left) == ((), (), {})


def test_the_report_has_accepted_partitions_and_those_that_were_left_with_the_reason():
    report = accepted(PretendAcceptance(), REQUEST)
    assert [each.partition for each in report.accepted] == [ONE]
    assert report.left == {TWO: "no leader in the target"}
    assert report.parked == ()
