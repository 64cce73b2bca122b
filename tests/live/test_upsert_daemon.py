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
    sent = ground.send(states(2000, keys=400, partitions=3, seed=1))
    sent += ground.send([NO_DOCUMENT])
    first = start()
    first.hear("event=upsert-begins")
    ground.assert_exact()
    # Killed while it reads the state from the store again.
    table = ("--feed", ground.feed, "--table", ground.table)
    ordered = Operator(ground.config).ask("upsert", "rotate", *table, "--reason", "smaller state")
    assert ordered.code == 0, ordered.text
    first.hear("event=upsert-rotates")
    sent += ground.send(states(2000, keys=400, partitions=3, seed=2, first=sent))
    first.process.send_signal(signal.SIGKILL)
    assert until(lambda: not any(map(is_alive, first.family())), 30)
    # What Spark keeps is never the truth; and keys move between partitions.
    shutil.rmtree(ground.config.parent / "upsert")
    ground.grow(5)
    sent += ground.send([NO_DOCUMENT, *states(2000, keys=400, partitions=5, seed=3, first=sent)])
    second = start()
    second.hear("event=upsert-begins .*state=bootstrap")
    ground.assert_exact()
    third = start()
    third.hear("event=upsert-begins")
    assert second.ended() == 8
    ground.send(states(2000, keys=400, partitions=5, seed=4, first=sent))
    ground.assert_exact()
    assert [value for value, _ in ground.dead_letters()] == [b"no document"] * 2
    third.signal(signal.SIGTERM)
    assert third.ended() == 0
    checked = Operator(ground.config).ask("upsert", "verify", "--feed", ground.feed)
    assert checked.code == 0, checked.text
