"""Runs and reports in a real Redis: repeats, outages, flushes, and the store's own state."""

from dataclasses import replace

import pytest
from redis import Redis

from deploy.lab.redis import RedisServer
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.offset_store import LOOSE_PIECES_MAX, OffsetStore
from replicator.mirror.offset_map.packed_map import pack, unpack
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.spans import Span, Spans
from replicator.runtime.store_errors import StoreUnreachable
from tests.live.runs import KEY, ROUTE, fed, keys, learned, stretches, told
from tests.replicator.mirror.offset_map.told_logs import target_of

pytestmark = pytest.mark.stores


async def test_routes_and_partitions_never_mix(redis):
    other = replace(KEY, partition=4, target_topic_id="another")
    await fed(redis.url, stretches(0, 1))
    await fed(redis.url, stretches(1, 2), other)
    with OffsetStore(redis.url, ROUTE) as store, OffsetStore(redis.url, "w?st.e*st") as stranger:
        assert set(store.keys()) == {KEY, other}
        assert store.load(other) == learned(stretches(1, 2))
        assert stranger.keys() == []
        assert len(stranger.load(KEY)) == 0


async def test_a_stretch_that_never_came_shows_as_missing(redis):
    await fed(redis.url, stretches(0, 5) + stretches(6, 9))
    with OffsetStore(redis.url, ROUTE) as store:
        offset_map = store.load(KEY)
        assert offset_map.missing == Spans(Span(50, 60))
        assert offset_map.target_floor(55) == (95, "floor")


async def test_tending_joins_trims_and_thins_and_carriers_append_meanwhile(redis):
    many = stretches(0, LOOSE_PIECES_MAX + 10)
    await fed(redis.url, many)
    with OffsetStore(redis.url, ROUTE) as store, Redis.from_url(redis.url) as client:
        (name,) = client.keys("sluice:runs:*")
        whole = learned(many)
        assert store.maintain(KEY, 0) == whole
        assert client.zcard(name) == 1
        assert store.load(KEY) == whole

        await fed(redis.url, stretches(len(many), len(many) + 1))
        whole = learned([*many, *stretches(len(many), len(many) + 1)])
        assert store.maintain(KEY, 0) == store.load(KEY) == whole
        assert client.zcard(name) == 2

        whole.trim(100)
        assert store.maintain(KEY, 100) == store.load(KEY) == whole
        assert client.zcard(name) == 1

        thin = store.maintain(KEY, 100, runs_max=50)
        assert store.load(KEY) == thin
        assert len(thin) <= 50
        assert len(thin.piece().thinned[0])


async def test_a_long_map_is_kept_in_pieces_and_loads_as_it_was(redis):
    await fed(redis.url, stretches(0, 100))
    with (
        OffsetStore(redis.url, ROUTE, runs_per_piece=7) as store,
        Redis.from_url(redis.url) as client,
    ):
        store.maintain(KEY, 31)
        (name,) = client.keys("sluice:runs:*")
        assert client.zcard(name) > 20
        whole = learned(stretches(0, 100))
        whole.trim(31)
        assert store.load(KEY) == whole


async def test_runs_told_after_an_accepted_loss_overrule_older_ones(redis):
    await fed(redis.url, stretches(0, 10))
    after = RunSegment(100, 110, (Run(100, 95, 10),))
    await fed(redis.url, [after], replace(KEY, losses=1))
    with OffsetStore(redis.url, ROUTE) as store:
        assert store.keys() == [KEY]
        for _ in range(2):
            offset_map = store.load(KEY)
            assert offset_map.source_of(95) == 100
            assert target_of(offset_map, 50) is None
            assert target_of(offset_map, 44) == 84
            assert store.maintain(KEY, 0) == offset_map


async def test_after_a_flush_the_store_says_so_and_is_read_back_exactly(redis):
    await fed(redis.url, stretches(0, 40))
    with OffsetStore(redis.url, ROUTE) as store, Redis.from_url(redis.url) as client:
        assert store.rebuild(told(KEY, stretches(0, 40)))
        assert store.incomplete_reason() is None
        before = store.load(KEY)
        client.flushall()
        assert store.incomplete_reason() == "Redis was flushed, or never filled"
        assert len(store.load(KEY)) == 0
        assert store.rebuild(told(KEY, stretches(0, 40)))
        assert store.incomplete_reason() is None
        assert store.load(KEY) == before


async def test_a_flush_during_the_rebuild_is_noticed(redis):
    with OffsetStore(redis.url, ROUTE) as store, Redis.from_url(redis.url) as client:

        def flushed_midway():
            yield from told(KEY, stretches(0, 5))
            assert (
                store.incomplete_reason() == "the runs are being read back, or that was broken off"
            )
            client.flushall()

        assert not store.rebuild(flushed_midway())
        assert store.incomplete_reason() is not None
        assert store.rebuild(told(KEY, stretches(0, 5)))
        assert store.incomplete_reason() is None


async def test_rebuilding_never_fails_over_a_contradiction_but_loading_names_it(redis):
    wrong = RunSegment(0, 10, (Run(0, 7, 10),))
    with OffsetStore(redis.url, ROUTE) as store:
        assert store.rebuild(told(KEY, [*stretches(0, 2), wrong]))
        with pytest.raises(Exception, match="landed at 7"):
            store.load(KEY)


async def test_pieces_can_be_copied_between_regions(redis):
    with OffsetStore(redis.url, ROUTE) as store:
        store.copy(KEY, [pack(piece) for piece in learned(stretches(0, 9)).pieces(4)])
        store.copy(KEY, [])
        assert store.load(KEY) == learned(stretches(0, 9))


async def test_a_restart_of_redis_is_noticed(tmp_path):
    server = RedisServer(tmp_path)
    server.start()
    server.wait_ready()
    try:
        with OffsetStore(server.url, ROUTE) as store, Redis.from_url(server.url) as client:
            assert store.rebuild(told(KEY, stretches(0, 3)))
            client.save()
            server.kill()
            server.start()
            server.wait_ready()
            assert store.incomplete_reason() in (
                "Redis was restarted",
                "Redis was flushed, or never filled",
            )
    finally:
        server.kill()


def test_a_reader_is_told_that_redis_is_away_and_no_password(tmp_path):
    url = RedisServer(tmp_path).url.replace("redis://", "redis://user:secret@")
    with OffsetStore(url, ROUTE) as store:
        with pytest.raises(StoreUnreachable, match="carrying goes on") as caught:
            store.load(KEY)
        assert "secret" not in str(caught.value)


async def test_the_pieces_of_many_partitions_come_as_they_were_told(redis):
    one, two, three = keys(3)
    await fed(redis.url, stretches(0, 2), one)
    await fed(redis.url, stretches(5, 6), replace(two, losses=1))
    with OffsetStore(redis.url, ROUTE) as store:
        told = store.pieces([one, two, three])
        assert set(told[one].values()) == {0}
        assert list(told[two].values()) == [1]
        assert told[three] == {}
        joined = OffsetMap()
        joined.join(map(unpack, told[one]))
        assert joined == store.load(one)
