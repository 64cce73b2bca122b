"""`sluice balance` next to a driver: real Spark, Kafka and Redis, and killed processes."""

import json
import re
import time
from collections import defaultdict

import pytest
from redis import Redis

from balancer.topic_partition import TopicPartition
from deploy.lab.skewed_load import SkewedLoad
from deploy.lab.wait import until
from replicator.orders.balance_log import Publisher, Superseded
from replicator.orders.order_records import Exclusion, Pause, Pin, key_of
from tests.live.arrived import has_arrived
from tests.live.balance_daemon import QUICK, Balancers, balancers  # noqa: F401
from tests.live.replicate_daemon import Region, region  # noqa: F401

pytestmark = pytest.mark.timeout(600)
# ruff: noqa: F811

KIB = 1024
# Partition 0 receives as much as all others together. The total needs two carriers.
SKEWED = {0: 40 * KIB, **dict.fromkeys(range(1, 8), 40 * KIB / 7)}


class Scene:
    """A driver that carries a skewed topic, and a balancer next to it."""

    def __init__(self, balancers: Balancers, regional, aggregate, make_topic) -> None:
        self.balancers, self.region = balancers, balancers.region
        self.regional, self.aggregate = regional, aggregate
        self.topic = make_topic(regional, partitions=8, name=self.region.topics)
        self.load = SkewedLoad(regional, self.topic, dict(SKEWED))

    def has_arrived(self) -> bool:
        return has_arrived(self.regional, self.aggregate, self.topic)

    def is_at_rest(self) -> bool:
        """Returns True when no placement was written for seven seconds, which is three rounds."""
        placed = self.balancers.placed()
        return placed is not None and time.time() * 1000 - placed.at_ms > 7000

    def said(self) -> dict[str, object]:
        return {"route": self.balancers.route_key, "at_ms": int(time.time() * 1000), "who": "test"}


@pytest.fixture
def scene(balancers, regional, aggregate, make_topic):
    return Scene(balancers, regional, aggregate, make_topic)


def loads(placed, where_from=SKEWED):
    """Returns the real traffic of each carrier's partitions."""
    found = defaultdict(float)
    for partition, carrier in placed.where.items():
        found[carrier] += where_from[partition.partition]
    return found


def test_traffic_decides_who_carries_what_and_every_record_arrives_once(scene):
    driver = scene.region.start()
    with scene.load:
        balancer = scene.balancers.start()
        placed = scene.balancers.until_placed(1)
        scene.balancers.until_followed(placed.generation)
        assert until(
            lambda: (
                sorted(loads(scene.balancers.placed()).values())[:2]
                == pytest.approx([40 * KIB, 40 * KIB])
            ),
            30,
            0.5,
        )
        assert until(scene.is_at_rest, 60, 0.5)
        shown = scene.balancers.until_followed(scene.balancers.placed().generation)
        carried = {p: c.number for c, some in shown.plan.loads.items() for p in some}
        assert carried == scene.balancers.placed().where
        assert shown.generations == (
            (scene.balancers.route_key, "default", scene.balancers.placed().generation),
        )
    assert until(scene.has_arrived, 60, 0.5)
    assert not driver.said("level=ERROR")
    balancer.terminate()
    assert balancer.wait(20) == 0


def test_where_nothing_was_looked_at_a_plan_follows_a_file_and_its_changes(scene):
    file = scene.region.directory / "throughput.json"
    never = QUICK.replace("sample_seconds = 1.0", "sample_seconds = 300.0")
    scene.region.more_settings = f'{never}throughput_file = "{file.name}"\n'

    def tell(rates, topic=scene.topic):
        stats = {f"{topic}-{at}": f"bytesInKB:{it / KIB:.6f}, msgIn:1" for at, it in rates.items()}
        file.write_text(json.dumps({"stats": {"west": stats}}))

    def is_even(rates):
        by_carrier = loads(scene.balancers.placed(), rates).values()
        return sorted(by_carrier) == pytest.approx([40 * KIB, 40 * KIB], rel=0.01)

    scene.region.start()
    tell(SKEWED)
    balancer = scene.balancers.start()
    placed = scene.balancers.until_placed(1)
    assert is_even(SKEWED) and placed.generation == 1
    assert scene.balancers.status().measured_part == 0.0
    shown = scene.balancers.shown("plan")
    assert [each["load_before"] for each in shown["carriers"]] == pytest.approx([0.39, 0.39], 0.02)
    assert shown["degraded"] is None and shown["moves_count"] == 0
    scene.balancers.until_followed(placed.generation)
    needs = scene.balancers.shown("partitions")["partitions"]
    assert {it["partition"]: it["expected_bytes_per_second"] for it in needs} == pytest.approx(
        SKEWED
    )
    assert [it["load"] for it in needs] == sorted((it["load"] for it in needs), reverse=True)
    assert {it["basis"] for it in needs} == {"file"}
    assert {it["partition"]: it["carrier"] for it in needs} == {
        each.partition: carrier for each, carrier in placed.where.items()
    }

    file.write_text("nonsense")
    scene.balancers.hear(balancer, "event=throughput-unread .*not JSON")
    other = {**SKEWED, 0: SKEWED[5], 5: SKEWED[0]}
    tell(other)
    scene.balancers.hear(balancer, "event=throughput-read")
    assert until(lambda: is_even(other), 60, 0.5)
    assert len(re.findall("event=throughput-unread", balancer.log.read_text())) == 1


def test_a_killed_balancer_is_not_missed_and_the_next_one_moves_nothing(scene):
    driver = scene.region.start()
    with scene.load:
        first = scene.balancers.start()
        scene.balancers.until_placed(1)
        assert until(scene.is_at_rest, 90, 0.5)
        first.kill()
        placed = scene.balancers.placed()
        second = scene.balancers.start()
        scene.balancers.hear(second, "event=lease")
        assert until(
            lambda: (
                scene.balancers.order_log().lease(scene.region.name).at_ms > placed.at_ms
                and (status := scene.balancers.status())
                and status.at_ms > placed.at_ms
                and status.measured_part == 1.0
            ),
            30,
            0.3,
        )
        assert scene.balancers.placed().generation == placed.generation
        # The traffic history of the first balancer was still there.
        assert not scene.balancers.status().degraded
    assert until(scene.has_arrived, 60, 0.5)
    assert not driver.said("level=ERROR")


@pytest.mark.core
def test_a_newer_balancer_supersedes_the_older_one_which_says_so_and_ends(scene):
    scene.region.start()
    with scene.load:
        older = scene.balancers.start()
        placed = scene.balancers.until_placed(1)
        settings = scene.balancers.appliance.region(scene.region.name)
        stale = Publisher("stale", settings.aggregate, scene.region.name)
        stale.open()
        newer = scene.balancers.start()
        scene.balancers.hear(newer, "event=lease")
        with pytest.raises(Superseded):
            stale.publish([placed.model_copy(update={"generation": 99})])
        assert older.wait(40) == 8
        scene.balancers.hear(older, "event=fenced a newer balancer")
        assert scene.balancers.placed().generation < 99


def test_orders_are_followed_and_taken_back(scene):
    scene.region.start()
    log = scene.balancers.log
    with scene.load:
        scene.balancers.start()
        scene.balancers.until_placed(1)
        assert until(scene.is_at_rest, 90, 0.5)
        exclusion = Exclusion(**scene.said(), carrier=0, why="its host is slow")
        log.write([exclusion])
        assert until(lambda: 0 not in scene.balancers.placed().carriers, 30, 0.3)
        shown = scene.balancers.until_followed(scene.balancers.placed().generation)
        assert all(carrier.number != 0 for carrier, load in shown.plan.loads.items() if load)
        pin = Pin(**scene.said(), topic=scene.topic, partition=5, carrier=shown_carrier(shown))
        pause = Pause(**scene.said(), topic=scene.topic, partition=7)
        log.write([pin, pause], [key_of(exclusion)])
        five, seven = TopicPartition(scene.topic, 5), TopicPartition(scene.topic, 7)
        assert until(lambda: scene.balancers.placed().where.get(five) == pin.carrier, 30, 0.3)
        assert until(
            lambda: (
                scene.balancers.active_plan().paused
                == ((scene.balancers.route_key, ((scene.topic, 7),)),)
            ),
            30,
            0.3,
        )
        assert until(lambda: seven not in scene.balancers.placed().where, 30, 0.3)
        assert scene.balancers.status().held is None
        log.write([], [key_of(pause), key_of(pin)])
        assert until(lambda: seven in scene.balancers.placed().where, 30, 0.3)
    assert until(scene.has_arrived, 60, 0.5)


def shown_carrier(shown):
    return max(carrier.number for carrier, load in shown.plan.loads.items() if load)


@pytest.mark.core
def test_without_redis_nothing_moves_and_new_partitions_are_carried_all_the_same(
    scene, redis, make_topic
):
    driver = scene.region.start()
    with scene.load:
        balancer = scene.balancers.start()
        scene.balancers.until_placed(1)
        assert until(scene.is_at_rest, 90, 0.5)
        placed = scene.balancers.placed()
        with Redis.from_url(redis.url) as client:
            client.flushall()
        other = make_topic(scene.regional, partitions=2, name=f"{scene.region.topics}-new")
        # The partitions may be adopted separately: the target's log end of one may still be
        # unknown.
        adopted = rf"event=adopted .*topic={other} partitions=(\d+)"
        assert until(lambda: sum(int(it[1]) for it in driver.said(adopted)) == 2, 60)
        new = {TopicPartition(other, 0), TopicPartition(other, 1)}
        assert until(lambda: new <= scene.balancers.placed().where.keys(), 60, 0.5)
        after = scene.balancers.placed().where
        assert {each: after[each] for each in placed.where} == placed.where
    assert until(scene.has_arrived, 60, 0.5)
    assert balancer.is_running


def test_a_partition_above_a_carriers_capacity_is_alone_and_named(scene):
    scene.region.start()
    scene.load.bytes_per_second = {0: 90 * KIB, **dict.fromkeys(range(1, 8), 5 * KIB)}
    with scene.load:
        balancer = scene.balancers.start()
        match = scene.balancers.hear(balancer, "event=alert .*hot partition.*")
        assert scene.topic in match[0]

        def is_alone():
            where = scene.balancers.placed().where
            hot = where.get(TopicPartition(scene.topic, 0))
            return list(where.values()).count(hot) == 1

        assert until(is_alone, 60, 0.5)
