"""Truncated logs at either end: the loss is named even after the log grew again, and other
partitions continue."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException

from balancer.topic_partition import TopicPartition
from deploy.lab.dump import dump
from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import records
from deploy.lab.wait import until
from tests.live.both_ends import assert_landed
from tests.live.carrying import Carrying
from tests.live.conftest import Carry
from tests.live.pair import both, ends, fill, prints


@pytest.fixture(scope="module")
def frail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A broker whose log files a test may change while the broker is stopped."""
    with KafkaCluster("frail", tmp_path_factory.mktemp("frail")) as cluster:
        yield cluster


@pytest.mark.parametrize("grown", [0, 900])
def test_a_source_log_cut_short_is_named_even_when_it_grew_past_the_position(
    frail: KafkaCluster, aggregate: KafkaCluster, carry: Carry, grown: int
) -> None:
    topic = both(frail, aggregate)
    place = TopicPartition(topic, 0)
    fill(frail, topic, "kept")
    end = ends(frail, topic)[0]
    carrying = carry(frail, aggregate)
    carrying.adopt(topic, 2)
    with Tampering(frail, topic) as tampering:
        tampering.copy()
    fill(frail, topic, "lost")
    carrying.carry_all()
    position = ends(frail, topic)[0]
    before = prints(frail, topic)
    with tampering:
        tampering.restore()
    if grown:
        fill(frail, topic, "anew", grown)
    carrying.begin()
    reason = carrying.until_parked(place)
    assert f"source log was truncated: source offsets [{end}, {position})" in reason
    fill(frail, topic, "behind")
    carrying.until_carried(west=[0])
    assert prints(aggregate, topic) == before

    assert carrying.accept(place).source_offset == end
    carrying.until_carried()
    carrying.stop()
    assert prints(aggregate, topic) == before + prints(frail, topic)[end:]
    assert carrying.assert_exact(but=[0])
    _assert_map(carrying, topic, frail, aggregate)


@pytest.mark.core
def test_a_source_log_cut_short_under_a_running_carrier_is_named(
    frail: KafkaCluster, aggregate: KafkaCluster, carry: Carry
) -> None:
    topic = both(frail, aggregate)
    place = TopicPartition(topic, 0)
    fill(frail, topic, "kept")
    end = ends(frail, topic)[0]
    with Tampering(frail, topic) as tampering:
        tampering.copy()
    carrying = carry(frail, aggregate)
    carrying.adopt(topic, 2)
    carrying.begin()
    fill(frail, topic, "lost")
    carrying.until_carried()
    position = ends(frail, topic)[0]
    before = prints(frail, topic)
    with tampering:
        tampering.restore()
    reason = carrying.until_parked(place)
    assert f"source log was truncated: source offsets [{end}, {position})" in reason
    fill(frail, topic, "behind")
    carrying.until_carried(west=[0])
    carrying.stop()
    assert prints(aggregate, topic) == before


@pytest.mark.parametrize(("grown", "is_running"), [(0, True), (900, True), (900, False)])
def test_a_target_log_cut_short_is_named_even_when_it_grew_past_what_was_landed(
    regional: KafkaCluster, frail: KafkaCluster, carry: Carry, grown: int, is_running: bool
) -> None:
    topic = both(regional, frail)
    place = TopicPartition(topic, 0)
    carrying = carry(regional, frail)
    carrying.adopt(topic, 2)
    fill(regional, topic, "kept")
    carrying.carry_all()
    end = ends(frail, topic)[0]
    with Tampering(frail, topic) as tampering:
        tampering.copy()
    fill(regional, topic, "lost")
    carrying.begin()
    carrying.until_carried()
    if not is_running:
        carrying.stop()
    landed = carrying.entries()[place].target_offset
    with tampering:
        tampering.restore()
    if grown:
        fill(frail, topic, "foreign", grown)
    left = prints(frail, topic)
    fill(regional, topic, "behind")
    if not is_running:
        carrying.begin()
    reason = carrying.until_parked(place)
    begin = 0 if grown else end
    assert f"target lost acknowledged records: target offsets [{begin}, {landed})" in reason
    carrying.until_carried(west=[0])
    assert prints(frail, topic) == left

    carrying.accept(place)
    carrying.until_carried()
    carrying.stop()
    # Acknowledged records that the target lost are given up; later records arrive once.
    assert prints(frail, topic) == left + prints(regional, topic)[-_behind(regional, topic) :]


def _behind(cluster: KafkaCluster, topic: str) -> int:
    """Returns how many of the 500 records sent last went to partition 0."""
    return sum(r.partition == 0 for r in records(500, partitions=2, origin="behind "))


def _assert_map(carrying: Carrying, topic: str, source: KafkaCluster, target: KafkaCluster) -> None:
    """Checks the map for all records that the source holds now, also after an accepted loss."""
    sent, arrived = dump(source, topic)[0], dump(target, topic)[0]
    for maps in carrying.maps("west"):
        (found,) = (m for key, m in maps.items() if (key.topic, key.partition) == (topic, 0))
        assert_landed(found, sent, arrived)


class Tampering:
    """Stops the broker meanwhile; the log of partition 0 can be copied and restored."""

    def __init__(self, cluster: KafkaCluster, topic: str) -> None:
        self._cluster, self._topic = cluster, topic
        self._log = cluster.directory / "node-1" / "data" / f"{topic}-0"
        self._copy = cluster.directory / f"{topic}-0.copy"

    def __enter__(self) -> Tampering:
        self._cluster.stop()
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.restart()
        self._cluster.wait_ready()
        assert until(self._is_led, 60)

    def _is_led(self) -> bool:
        """Returns False until the restarted broker leads its partitions again."""
        try:
            dump(self._cluster, self._topic)
        except KafkaException:
            return False
        return True

    def copy(self) -> None:
        shutil.copytree(self._log, self._copy)

    def restore(self) -> None:
        shutil.rmtree(self._log)
        shutil.copytree(self._copy, self._log)
