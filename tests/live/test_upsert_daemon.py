"""Upsert tables, kept by `sluice aggregate` as operators run it."""

from __future__ import annotations

import signal

import pytest

from deploy.lab.wait import until
from tests.live.replicate_daemon import ReplicateDaemon, is_alive
from tests.live.upsert_ground import UpsertGround, states


@pytest.fixture
def ground(tmp_path, aggregate, redis, replicated_database):
    ground = UpsertGround(tmp_path, aggregate, redis, replicated_database)
    ground.create()
    return ground


@pytest.fixture
def start(ground):
    """`start()`: a run of the daemon."""
    started: list[ReplicateDaemon] = []

    def start() -> ReplicateDaemon:
        daemon = ReplicateDaemon(
            ground.config, "east", len(started), "local[2,8]", subcommand="aggregate"
        )
        started.append(daemon)
        return daemon

    yield start
    for daemon in started:
        daemon.kill()


@pytest.mark.core
def test_a_query_sees_the_newest_row_of_each_key_whatever_is_killed(ground, start):
    sent = ground.send(states(3000, keys=400, partitions=3, seed=1))
    daemon = start()
    daemon.hear("event=upsert-begins")
    ground.assert_exact()
    sent += ground.send(states(3000, keys=400, partitions=3, seed=2, first=sent))
    daemon.process.send_signal(signal.SIGKILL)
    assert until(lambda: not any(map(is_alive, daemon.family())), 30)
    again = start()
    again.hear("event=upsert-begins")
    ground.send(states(3000, keys=400, partitions=3, seed=3, first=sent))
    ground.assert_exact()
    again.signal(signal.SIGTERM)
    assert again.ended() == 0
