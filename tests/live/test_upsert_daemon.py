"""Upsert tables, kept by `sluice aggregate` as operators run it."""

from __future__ import annotations

import shutil
import signal

import pytest

from deploy.lab.operator import Operator
from deploy.lab.traffic import TrafficRecord
from deploy.lab.wait import until
from tests.live.replicate_daemon import aggregate_runs, is_alive
from tests.live.upsert_ground import UpsertGround, states

NO_DOCUMENT = TrafficRecord(0, None, b"no document")
LOST = [
    TrafficRecord(0, None, b'{"id": %d, "name": "lost", "version": 99999, "gone": 0}' % key)
    for key in range(20)
]
"""Records that retention takes before a tick does."""


@pytest.fixture
def ground(tmp_path, aggregate, redis, replicated_database):
    ground = UpsertGround(tmp_path, aggregate, redis, replicated_database)
    ground.create()
    return ground


@pytest.fixture
def start(ground):
    """`start()`: a run of the daemon."""
    with aggregate_runs(ground.config) as start:
        yield start


@pytest.mark.core
def test_a_query_sees_the_newest_row_of_each_key_whatever_is_killed_or_lost(ground, start):
    operator, table = Operator(ground.config), ("--feed", ground.feed, "--table", ground.table)
    accept = ("upsert", "accept-loss", *table)
    sent = ground.send(states(2000, keys=400, partitions=3, seed=1))
    sent += ground.send([NO_DOCUMENT])
    first = start()
    first.hear("event=upsert-begins")
    ground.assert_exact()
    # Killed while it reads the state from the store again.
    operator.ask("upsert", "rotate", *table, "--reason", "smaller state")
    first.hear("event=upsert-rotates")
    # None in partition 0, whose log loses its end below.
    others = [it for it in states(2000, keys=400, partitions=3, seed=2, first=sent) if it.partition]
    sent += ground.send(others)
    first.process.send_signal(signal.SIGKILL)
    assert until(lambda: not any(map(is_alive, first.family())), 30)
    # What Spark keeps is never the truth; and keys move between partitions.
    shutil.rmtree(ground.config.parent / "upsert")
    ground.grow(5)
    sent += ground.send(LOST)
    ground.lose(0)
    sent += ground.send([NO_DOCUMENT, *states(2000, keys=400, partitions=5, seed=3, first=sent)])
    second = start()
    second.hear("event=upsert-begins .*state=bootstrap")
    second.hear(rf"event=upsert-lane-stopped .* {ground.topic}-0: .*\[\d+, \d+\)")
    assert until(lambda: operator.ask(*accept, codes=(0, 4)).code == 4, 60)
    operator.ask(*accept, "--yes", "--reason", "they were deleted by mistake")
    ground.assert_exact()
    third = start()
    third.hear("event=upsert-begins")
    assert second.ended() == 8
    ground.send(states(2000, keys=400, partitions=5, seed=4, first=sent))
    ground.assert_exact()
    assert [value for value, _ in ground.dead_letters()] == [b"no document"] * 2
    third.signal(signal.SIGTERM)
    assert third.ended() == 0
    assert "an operator accepted a loss" in operator.ask("upsert", "verify", *table).text
