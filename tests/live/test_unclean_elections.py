"""Unclean elections that lose acknowledged records, which are named; other partitions continue."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import PartitionMetadata

from aggregator.upsert.cluster_logs import ClusterLogs
from aggregator.upsert.range_reader import (
    RangeLost,
    RangeReader,
    lost_range,
    spans_of,
    with_gap,
    without_gaps,
)
from aggregator.upsert.tick import Tick
from aggregator.upsert.tick_cut import Cut, CutSettings, cut, tick_zero
from balancer.topic_partition import TopicPartition
from deploy.lab.dump import dump
from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import Shape, records, send
from deploy.lab.wait import until
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import KafkaCluster as Settings
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.epoch_regress import EpochRegress
from replicator.kafka.client.loss import Loss
from replicator.runtime.run_in_thread import run_in_thread
from tests.live.carrying import Carrying
from tests.live.topics import create, new_name

UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
# Partition 0 is lost with broker 1; partition 1 keeps its leader.
REPLICAS = [[1, 2], [3, 2]]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Three brokers, all of which run again at the end of each test."""
    with KafkaCluster("three", tmp_path_factory.mktemp("three"), brokers=3) as cluster:
        yield cluster


class Loser:
    """Makes partition 0 of a topic lose the records that are written while broker 2 is down.

    All brokers run again at the end of the `with` block.
    """

    def __init__(self, cluster: KafkaCluster, topic: str) -> None:
        self._cluster, self._topic, self._admin = cluster, topic, cluster.admin()

    def __enter__(self) -> Loser:
        return self

    def __exit__(self, *_: object) -> None:
        for number in (1, 2):
            if number not in self._cluster.processes:
                self._cluster.restart(number)
        self._cluster.wait_ready()

    def leave_one_behind(self) -> None:
        self._cluster.kill(2)
        assert until(lambda: self._shown().isrs == [1], 60)

    def elect_the_one_left_behind(self) -> None:
        self._cluster.kill(1)
        self._cluster.restart(2)
        assert until(lambda: self._shown().leader == 2, 60)

    def _shown(self) -> PartitionMetadata:
        """Returns the metadata of partition 0; empty while no broker answers."""
        try:
            told = self._admin.list_topics(self._topic, timeout=2)
        except KafkaException:
            return PartitionMetadata()
        return told.topics[self._topic].partitions.get(0, PartitionMetadata())


def fill(cluster: KafkaCluster, topic: str, origin: str) -> None:
    traffic = records(500, partitions=2, origin=f"{origin} ")
    send(cluster, topic, traffic, Shape(codec="lz4", batch_records=50))


def prints(cluster: KafkaCluster, topic: str) -> list[int]:
    return list(dump(cluster, topic)[0].prints.tolist())


def test_what_an_unclean_election_took_from_the_source_is_named(
    three: KafkaCluster, aggregate: KafkaCluster, redis: RedisServer
) -> None:
    topic = new_name()
    create(three, topic, config=UNCLEAN, replicas=REPLICAS)
    create(aggregate, topic, 2)
    place = TopicPartition(topic, 0)
    with Loser(three, topic) as loser, Carrying({"west": three}, aggregate, redis) as carrying:
        carrying.adopt(topic, 2)
        carrying.begin()
        fill(three, topic, "kept")
        end = len(prints(three, topic))
        loser.leave_one_behind()
        fill(three, topic, "lost")
        carrying.until_carried()
        before = prints(three, topic)
        loser.elect_the_one_left_behind()
        fill(three, topic, "anew")
        reason = carrying.until_parked(place)
        assert f"source log was truncated: source offsets [{end}, {len(before)})" in reason
        carrying.until_carried(west=[0])
        assert prints(aggregate, topic) == before

        assert carrying.accept(place).source_offset == end
        carrying.until_carried()
        carrying.stop()
        assert prints(aggregate, topic) == before + prints(three, topic)[end:]
        assert carrying.assert_exact(but=[0])


@pytest.mark.core
def test_what_an_unclean_election_took_from_the_target_is_named(
    regional: KafkaCluster, three: KafkaCluster, redis: RedisServer
) -> None:
    topic = new_name()
    create(regional, topic, 2)
    create(three, topic, config=UNCLEAN, replicas=REPLICAS)
    place = TopicPartition(topic, 0)
    with (
        Loser(three, topic) as loser,
        Carrying({"west": regional}, three, redis, replication_factor=3) as carrying,
    ):
        carrying.adopt(topic, 2)
        carrying.begin()
        fill(regional, topic, "kept")
        carrying.until_carried()
        end = len(prints(three, topic))
        loser.leave_one_behind()
        fill(regional, topic, "lost")
        carrying.until_carried()
        landed = len(prints(regional, topic))
        loser.elect_the_one_left_behind()
        left = prints(three, topic)
        assert len(left) == end
        fill(regional, topic, "behind")
        reason = carrying.until_parked(place)
        assert f"target lost acknowledged records: target offsets [{end}, {landed})" in reason
        carrying.until_carried(west=[0])
        assert prints(three, topic) == left

        carrying.accept(place)
        carrying.until_carried()
        carrying.stop()
        assert prints(three, topic) == left + prints(regional, topic)[landed:]
        assert carrying.assert_exact(but=[0])


class Ticks:
    """Ticks of a topic, cut and read as those of an upsert table."""

    def __init__(self, cluster: KafkaCluster, topic: str) -> None:
        self.name = ClusterName("west regional")
        settings = Settings.model_validate(cluster.topology_table())
        self.cluster = Cluster(self.name, settings)
        self.logs = ClusterLogs(
            self.name,
            Admin(self.name, settings, needs_configs=False),
            self.cluster,
            EpochRegress(self.cluster),
            lambda name: name == topic,
            look_seconds=0.1,
            refresh_seconds=1.0,
            changed=asyncio.Event(),
        )
        self.newest = tick_zero(1)

    async def cut(self, ends: list[int], accepted: Mapping[int, Loss] | None = None) -> Cut:
        """Cuts the next tick, once the logs have these ends."""
        while True:
            self.logs.logs = await run_in_thread(self.logs.look)
            logs = await self.logs.behind(self.newest)
            if [log and log.end for log in logs.values()] == ends:
                break
            await asyncio.sleep(0.1)
        found = cut(self.newest, logs, [self.name], 0, CutSettings(), accepted=accepted or {})
        self.newest = found.tick or self.newest
        return found

    async def read(self, tick: Tick) -> list[tuple[int, int]]:
        """Returns lane and offset of each record of a tick."""
        reader = RangeReader({self.name: self.cluster})
        spans = without_gaps(spans_of(tick, 0, tick.offsets), tick.gaps)
        return [
            (part.lane, offset)
            async for part in reader.read(spans)
            for offset in part.records.offset.tolist()
        ]


def both_ends(cluster: KafkaCluster, topic: str) -> list[int]:
    found = dump(cluster, topic)
    return [len(found[number].offsets) for number in (0, 1)]


async def test_what_an_unclean_election_took_of_ticks_is_named_and_no_other_record_read_instead(
    three: KafkaCluster,
) -> None:
    """A tick has read records that are lost, another one was cut and has read nothing."""
    topic = new_name()
    create(three, topic, config=UNCLEAN, replicas=REPLICAS)
    ticks = Ticks(three, topic)
    with Loser(three, topic) as loser:
        fill(three, topic, "kept")
        kept = both_ends(three, topic)
        await ticks.cut(kept)
        loser.leave_one_behind()
        fill(three, topic, "read")
        read = both_ends(three, topic)
        await ticks.cut(read)
        assert len(await ticks.read(ticks.newest)) == sum(read) - sum(kept)
        fill(three, topic, "not read")
        ends = both_ends(three, topic)
        before = (await ticks.cut(ends)).tick
        loser.elect_the_one_left_behind()
        for portion in range(3):
            fill(three, topic, f"anew {portion}")
        anew = both_ends(three, topic)
        assert anew[0] > ends[0], "grown over the end of the tick"

        with pytest.raises(RangeLost, match="source log was truncated.* and written anew") as lost:
            await ticks.read(before)
        found = lost_range(str(lost.value))
        assert before and found
        before = with_gap(before, found)
        [gap] = before.gaps
        assert (gap.lane, gap.loss.begin, gap.loss.end) == (0, read[0], ends[0])
        ticks.newest = before = replace(before, gaps=(gap._replace(is_accepted=True),))
        assert await ticks.read(before) == [(1, at) for at in range(read[1], ends[1])]

        [stop] = (await ticks.cut(anew)).tick.stops
        assert (stop.lane, stop.loss.begin, stop.loss.end) == (0, kept[0], ends[0])
        assert await ticks.read(ticks.newest) == [(1, at) for at in range(ends[1], anew[1])]
        await ticks.cut(anew, accepted={0: stop.loss})
        await ticks.cut(anew)
        assert await ticks.read(ticks.newest) == [(0, at) for at in range(kept[0], anew[0])]
    await ticks.cluster.close()
