"""Shares follow from the sources' traffic and from the lag, not from the carriers' throughput."""

import math

from balancer.demand.load_model import Factors, LoadModel
from balancer.demand.throughput_file import Throughput
from balancer.demand.window import Rate
from balancer.topic_partition import TopicPartition
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.placement.rounds.shares import RATE_DEFAULT, ShareMemory, share_of

MODEL = LoadModel(Factors.of_capacity(1e6), Factors(1e-6, 1e-3), drain_seconds=100)
A, B, C = (TopicPartition("t", number) for number in range(3))
OTHER = TopicPartition("other", 0)


def report(lag_records=0, opened_part=None, bytes_per_second=0.0):
    return PartitionReport(
        "r", "t", 0, 0, 0.0, bytes_per_second, 10, 10, lag_records, 1.0, None, 1.0, opened_part
    )


def estimate(
    memory=None, rates=None, fresh=(A, B), reports=None, partitions=(A, B, C, OTHER), file=None
):
    rates = {A: Rate(2e5, 200), B: Rate(4e5, 400)} if rates is None else rates
    memory = memory or ShareMemory()
    return memory.estimate(set(partitions), rates, set(fresh), reports or {}, MODEL, file)


def test_a_partition_that_was_never_measured_has_its_topics_mean_or_the_default():
    found = estimate()
    assert [round(found.shares[each], 9) for each in (A, B, C)] == [0.2, 0.4, 0.3]
    assert found.shares[OTHER] == MODEL.share(RATE_DEFAULT)
    assert found.measured == {A, B}


def test_an_old_measurement_counts_and_is_not_fresh():
    found = estimate(fresh=(A,))
    assert round(found.shares[B], 9) == 0.4
    assert found.measured == {A}


def test_a_file_gives_rates_that_were_never_measured_and_do_not_count_as_measured():
    file = Throughput({A: Rate(9e5, 1), C: Rate(1e5, 100)}, {"other": Rate(3e5, 300)})
    found = estimate(file=file, fresh=(A, B, C))
    assert [round(found.shares[each], 9) for each in (A, B, C, OTHER)] == [0.2, 0.4, 0.1, 0.3]
    assert found.measured == {A, B}


def test_a_rate_of_a_file_that_jumps_is_believed_when_it_is_read_twice():
    memory, before, jump = ShareMemory(), *(Throughput({}, {"t": Rate(r, 1)}) for r in (1e5, 2e9))
    estimate(memory, {}, file=before)
    assert round(estimate(memory, {}, file=jump).shares[A], 9) == 0.1
    assert estimate(memory, {}, file=jump).shares[A] > 1000


def test_a_share_follows_from_the_lag_and_not_from_the_carriers_throughput():
    rate = Rate(1e5, 100)
    assert share_of(rate, report(bytes_per_second=9e9), MODEL) == share_of(rate, None, MODEL)
    behind = share_of(rate, report(lag_records=10_000), MODEL)
    assert math.isclose(behind, 0.1 + 10_000 * 1000 / 1e6 / 100)


def test_records_that_have_to_be_opened_cost_more():
    rate = Rate(1e5, 100)
    assert math.isclose(share_of(rate, report(opened_part=1.0), MODEL), 0.1 + 0.1)


def test_a_jump_of_a_thousand_times_is_believed_only_when_it_is_seen_twice():
    memory = ShareMemory()
    before = estimate(memory)
    jump = {A: Rate(2e9, 200), B: Rate(4e5, 400)}
    first = estimate(memory, jump)
    assert first.shares[A] == before.shares[A] and A in first.doubts
    second = estimate(memory, jump)
    assert second.shares[A] > 1000 and not second.doubts


def test_after_a_restart_the_first_measurement_is_believed():
    assert estimate(rates={A: Rate(2e9, 1)}).doubts == {}


def test_loads_are_sums_of_the_shares_of_each_carrier():
    found = estimate()
    loads = found.loads((0, 2), {A: 0, B: 0, C: 1})
    assert loads == {0: found.shares[A] + found.shares[B], 2: 0.0}
