"""`sluice offsets` as a process: it copies this region's data to other regions through outages."""

from __future__ import annotations

import signal
import uuid

import pytest
from confluent_kafka import Producer, TopicPartition
from redis import Redis

from deploy.lab.wait import until
from replicator.config.topology import KafkaCluster
from replicator.groups.copies.commit_store import CommitStore
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import PrimaryRegion
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.kafka.admin.admin import Admin
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.runs_topic import RunsKey, read
from tests.live.copying import PATIENCE_SECONDS, commit
from tests.live.offsets_daemon import OffsetsRegion, offsets_region
from tests.live.runs import KEY, create_runs_topic, fed, learned, loaded, publisher, stretches

__all__ = ["offsets_region"]  # a fixture


async def tell(cluster, route_key: str, parts: list, key: RunsKey = KEY) -> None:
    telling = await publisher(cluster, route_key)
    await telling.publish((key, part) for part in parts)
    await telling.flush()
    await telling.stop()


def copied_map(url: str, route_key: str, key: RunsKey = KEY) -> OffsetMap:
    with OffsetStore(url, route_key) as store:
        return store.load(key)


def copied_offset(url: str, region: str, group: str) -> int | None:
    with CommitStore(url, region) as store:
        offsets = [it.offset for it in store.commits([group])[group].values()]
    return offsets[0] if offsets else None


def until_copied(region: OffsetsRegion, url: str, group: str, offset: int, parts: list) -> None:
    def is_copied() -> bool:
        is_committed = copied_offset(url, region.name, group) == offset
        return is_committed and copied_map(url, region.route_key) == learned(parts)

    assert until(is_copied, PATIENCE_SECONDS)


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4().hex[:8]}"


@pytest.mark.core
async def test_commits_runs_and_decisions_reach_the_other_regions_and_sigterm_ends_it(
    aggregate, offsets_region, make_topic, group
):
    region, topic = offsets_region, make_topic(aggregate)
    create_runs_topic(aggregate, region.route_key)
    await tell(aggregate, region.route_key, stretches(0, 5))
    commit(aggregate, group, topic, 7)
    daemon = region.start()
    for peer in (region.west, region.north):
        until_copied(region, peer.url, group, 7, stretches(0, 5))
    await tell(aggregate, region.route_key, stretches(5, 9))
    commit(aggregate, group, topic, 8)
    for peer in (region.west, region.north):
        until_copied(region, peer.url, group, 8, stretches(0, 9))
    # The region's own Redis gets its runs from the carriers, not from this daemon.
    assert len(copied_map(region.own.url, region.route_key)) == 0

    settings = KafkaCluster.model_validate(aggregate.topology_table())
    decided = PrimaryRegion(group, region.name, 1, 1000, "test", "because", None, None)
    PrimaryLog("east aggregate", settings).write([decided])
    for server in (region.own, region.west, region.north):
        with PrimaryStore(server.url) as primaries:
            assert until(lambda it=primaries: it.all().get(group) == decided, PATIENCE_SECONDS)

    def fresh() -> bool:
        samples = region.metrics()
        ages = [value for name, value in samples.items() if "copies_age_seconds{" in name]
        ups = [value for name, value in samples.items() if "copier_up{" in name]
        return len(ages) == len(ups) == 7 and max(ages) < 5 and set(ups) == {1.0}

    assert until(fresh, PATIENCE_SECONDS)
    assert region.events(daemon) == []

    for row in region.asked("show", "--region", "west"):
        is_known = row["region"] == region.name
        assert (row["age_seconds"] is not None) == is_known, row
        if is_known and row["of"] == f"runs west>{region.name}":
            assert (row["partitions"], row["runs"]) == (1, len(learned(stretches(0, 9))))
    assert region.ended(daemon) == 0


async def test_a_redis_that_is_away_holds_up_no_other_and_catches_up(
    aggregate, offsets_region, make_topic, group
):
    region, topic = offsets_region, make_topic(aggregate)
    create_runs_topic(aggregate, region.route_key)
    commit(aggregate, group, topic, 1)
    region.north.kill()
    daemon = region.start()
    await tell(aggregate, region.route_key, stretches(0, 5))
    until_copied(region, region.west.url, group, 1, stretches(0, 5))
    assert until(lambda: region.events(daemon).count("not-copied") == 3, PATIENCE_SECONDS)

    def ups() -> dict[str, float]:
        return {name: up for name, up in region.metrics().items() if "copier_up{" in name}

    expected = {name: 0.0 if 'region="north"' in name else 1.0 for name in ups()}
    assert until(lambda: ups() == expected, PATIENCE_SECONDS)

    region.north.start()
    region.north.wait_ready()
    until_copied(region, region.north.url, group, 1, stretches(0, 5))
    assert until(lambda: region.events(daemon).count("copied-again") == 3, PATIENCE_SECONDS)
    with Redis.from_url(region.west.url) as client:
        client.flushall()
    until_copied(region, region.west.url, group, 1, stretches(0, 5))
    # A Redis that hangs does not delay the daemon's end either.
    region.west.process.send(signal.SIGSTOP)
    assert region.ended(daemon) == 0


async def test_two_daemons_of_a_region_do_no_harm(aggregate, offsets_region, make_topic, group):
    region, topic = offsets_region, make_topic(aggregate)
    create_runs_topic(aggregate, region.route_key)
    daemons = [region.start(), region.start()]
    for count in range(1, 6):
        parts = stretches(0, 30 * count)
        await tell(aggregate, region.route_key, parts[-30:])
        commit(aggregate, group, topic, count)
        for peer in (region.west, region.north):
            until_copied(region, peer.url, group, count, parts)
    for daemon in daemons:
        assert region.events(daemon) == []
        assert region.ended(daemon) == 0


async def test_copies_are_cut_where_the_targets_log_begins(aggregate, offsets_region, make_topic):
    region, topic = offsets_region, make_topic(aggregate)
    create_runs_topic(aggregate, region.route_key)
    key = RunsKey(topic, 0, "5" * 32, id_of(aggregate, topic))
    daemon = region.start()
    await tell(aggregate, region.route_key, stretches(0, 9), key)
    cut_off(aggregate, topic, 70)
    expected = learned(stretches(0, 9))
    expected.trim(70)
    for peer in (region.west, region.north):
        assert until(
            lambda it=peer: copied_map(it.url, region.route_key, key) == expected, PATIENCE_SECONDS
        )
    assert region.ended(daemon) == 0


def id_of(cluster, topic: str) -> str:
    admin = Admin("east", KafkaCluster.model_validate(cluster.topology_table()))
    assert until(lambda: bool(admin.topics([topic])), PATIENCE_SECONDS)
    return admin.topics([topic])[0].topic_id.hex


def cut_off(cluster, topic: str, offset: int) -> None:
    """Moves the log start of partition 0 to an offset."""
    producer = Producer(cluster.librdkafka_options())
    for _ in range(offset + 30):
        producer.produce(topic, value=b"record")
    assert producer.flush(30) == 0
    admin, partition = cluster.admin(), TopicPartition(topic, 0, offset)
    admin.delete_records([partition])[partition].result(30)


# The region's own maps


@pytest.mark.core
async def test_after_a_flush_a_rebuild_gives_the_maps_that_were_there_before(
    aggregate, offsets_region, make_topic
):
    region, topic = offsets_region, make_topic(aggregate)
    create_runs_topic(aggregate, region.route_key)
    keys = [RunsKey(topic, 0, "5" * 32, id_of(aggregate, topic)), KEY]
    for key in keys:
        await tell(aggregate, region.route_key, stretches(0, 200), key)
        await fed(region.own.url, stretches(0, 200), key, route_key=region.route_key)
    cut_off(aggregate, topic, 70)
    with OffsetStore(region.own.url, region.route_key) as store:
        assert store.rebuild(read(aggregate.librdkafka_options(), region.route_key))
        store.maintain(keys[0], 70)
        before = loaded(store)
        with Redis.from_url(region.own.url) as client:
            client.flushall()
        (row,) = region.asked("rebuild", "--region", region.name)
        assert loaded(store) == before
        assert store.incomplete_reason() is None
    assert row == {
        "route": f"west>{region.name}",
        "partitions": 2,
        "runs": sum(map(len, before.values())),
        "records": sum(int(each.piece().counts.sum()) for each in before.values()),
        "complete": True,
        "trouble": None,
    }


async def test_a_map_with_a_hole_in_its_topic_is_logged_as_incomplete(aggregate, offsets_region):
    region = offsets_region
    create_runs_topic(aggregate, region.route_key)
    await tell(aggregate, region.route_key, [*stretches(0, 3), *stretches(4, 5)])
    (row,) = region.asked("rebuild", "--region", region.name, expected=5)
    assert not row["complete"]
    assert "misses runs at 1 places, first at source offset 30" in row["trouble"]


def test_a_route_that_never_ran_is_named_and_a_redis_that_is_away_ends_it_with_3(
    aggregate, offsets_region
):
    region = offsets_region
    (row,) = region.asked("rebuild", "--region", region.name, expected=5)
    assert "there is no topic" in row["trouble"]
    region.own.kill()
    for command in ("rebuild", "show"):
        if command == "rebuild":
            create_runs_topic(aggregate, region.route_key)
        assert "Redis at" in region.asked(command, "--region", region.name, expected=3)
