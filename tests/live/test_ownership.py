"""Ownership of partitions while balancer, driver, workers and executors are killed. Each partition
has one writer at a time and stands still no longer than stated here."""

import signal
import time

import pytest

from balancer.topic_partition import TopicPartition
from deploy.lab.arrivals import Arrivals
from deploy.lab.skewed_load import SkewedLoad
from deploy.lab.wait import until
from replicator.orders.order_records import Pin
from tests.live.arrived import has_arrived
from tests.live.balance_daemon import balancers  # noqa: F401
from tests.live.replicate_daemon import region  # noqa: F401

pytestmark = pytest.mark.timeout(900)
# ruff: noqa: F811

PARTITIONS = 8
STILL_SECONDS_MAX = {
    "balancer": 60.0,
    "moves": 60.0,
    "worker": 60.0,
    "executor": 120.0,
    "driver": 200.0,
}
"""Longest allowed standstill of a partition, in seconds, by what is killed. These tell a partition
that waits for a timeout or for nothing, not a slow one: tests share busy machines, and how long
moves take is measured in bench/standstill.py."""


def test_kills_of_balancer_driver_workers_and_executors_leave_one_writer_and_no_partition_for_long(
    balancers, regional, aggregate, make_topic
):
    where = balancers.region
    topic = make_topic(regional, partitions=PARTITIONS, name=where.topics)
    driver = where.start()
    balancer = balancers.start()
    rates = {number: 6000.0 * (1 + number % 3) for number in range(PARTITIONS)}
    places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    still: dict[str, float] = {}
    with SkewedLoad(regional, topic, rates, 200):
        balancers.until_followed(balancers.until_placed(1).generation)
        with Arrivals(aggregate, places) as arrivals:

            def endure(what, act, seconds):
                """Runs `act` and records the longest standstill of any partition."""
                began = time.time()
                act()
                until(lambda: False, seconds)
                assert until(arrivals.is_current, 180, 0.1), f"{what}: stopped"
                silences = arrivals.silences(began - 1, time.time())
                still[what] = max(still.get(what, 0.0), max(silences.values())[0])

            for _ in range(2):
                endure("balancer", balancer.kill, 4)
                balancer = balancers.start()
                balancers.hear(balancer, "event=lease")
                endure("moves", lambda: pin_elsewhere(balancers), 6)
                endure("worker", lambda: driver.workers()[0].kill(), 4)
            driver.signal(signal.SIGKILL)
            began = time.time()
            assert driver.ended() == -signal.SIGKILL
            driver = where.start(master="local-cluster[2,1,1024]")
            assert until(lambda: arrivals.is_current(began), 180, 0.1)
            still["driver"] = max(arrivals.silences(began - 1, time.time()).values())[0]
            endure("executor", lambda: executors(driver)[0].kill(), 4)
            endure("moves", lambda: pin_elsewhere(balancers), 6)
    assert until(lambda: has_arrived(regional, aggregate, topic), 60, 0.5)
    assert all(still[what] < most for what, most in STILL_SECONDS_MAX.items()), still
    print(still)


def executors(driver):
    return [p for p in driver.family() if "CoarseGrainedExecutorBackend" in " ".join(p.cmdline())]


def pin_elsewhere(balancers):
    """Pins some partitions, each to another busy carrier, and waits for the driver's plan."""
    placed = balancers.placed()
    busy = sorted(set(placed.where.values()))
    said = {"route": balancers.route_key, "at_ms": int(time.time() * 1000), "who": "test"}
    moved = [p for p in sorted(placed.where) if p.partition % 2]
    carriers = {p: busy[(busy.index(placed.where[p]) + 1) % len(busy)] for p in moved}
    balancers.log.write(
        [
            Pin(**said, topic=p.topic, partition=p.partition, carrier=carrier)
            for p, carrier in carriers.items()
        ]
    )
    balancers.until_followed(balancers.until_placed(placed.generation + 1).generation)
