"""Parked partitions of a feed say why they wait."""

from replicator.kafka.client.loss import LossKind
from tests.tui.commands.test_aggregate_losses import parked
from tui.facts.feed_losses import NO_INTENT


def test_a_partition_says_why_it_waits():
    assert "source batch cannot be read" in parked(LossKind.SOURCE_CORRUPT).reason
    assert parked(None).reason == NO_INTENT
