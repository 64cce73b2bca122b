"""Rates of the throughput file replace measured ones only when these cannot be believed."""

from balancer.demand.throughput_file import Throughput
from balancer.demand.window import Rate
from tests.replicator.placement.rounds.snapshots import PARTITIONS, rates, snapshot

ALL = frozenset(PARTITIONS)
FILE = Throughput(dict.fromkeys(PARTITIONS, Rate(1.0, 1.0)))


def test_measured_rates_are_kept_as_long_as_they_can_be_believed():
    measured = snapshot(throughput=FILE)
    assert measured.with_file_rates(ALL) is measured


def test_the_file_replaces_rates_that_cannot_be_believed():
    found = snapshot(throughput=FILE, degraded="measured long ago").with_file_rates(ALL)
    assert (found.rates, found.degraded) == ({}, None)


def test_partitions_that_the_file_leaves_out_keep_their_rates():
    most = Throughput(dict.fromkeys(PARTITIONS[:11], Rate(1.0, 1.0)))
    found = snapshot(throughput=most, degraded="measured long ago").with_file_rates(ALL)
    assert found.degraded is None
    assert found.rates == {PARTITIONS[11]: rates()[PARTITIONS[11]]}


def test_a_file_without_any_of_the_partitions_changes_nothing():
    unknown = snapshot(degraded="not measured yet")
    assert unknown.with_file_rates(ALL) is unknown


def test_a_file_with_too_few_partitions_is_named_and_not_used():
    few = Throughput(dict.fromkeys(PARTITIONS[:9], Rate(1.0, 1.0)))
    found = snapshot(throughput=few, degraded="not measured yet").with_file_rates(ALL)
    assert found.rates == rates()
    assert found.degraded == "not measured yet; throughput_file has rates of 9 of 12 partitions"
