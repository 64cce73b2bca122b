"""A source cluster that was restored together with its metadata."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from deploy.lab.kafka import KafkaCluster
from tests.live.stage import Stage

BEFORE, SINCE, GROWN = 100, 80, 120


@pytest.fixture
def source(make_cluster) -> KafkaCluster:
    return make_cluster("restored")


def begin_again(cluster: KafkaCluster) -> None:
    """Kills and restarts the broker, which gives its partitions a newer leader epoch."""
    cluster.kill()
    cluster.restart()
    cluster.wait_ready()


def keep_copy(cluster: KafkaCluster) -> None:
    cluster.kill()
    shutil.copytree(_data(cluster), cluster.directory / "copy")
    cluster.restart()
    cluster.wait_ready()


def restore(cluster: KafkaCluster) -> None:
    cluster.kill()
    shutil.rmtree(_data(cluster))
    shutil.copytree(cluster.directory / "copy", _data(cluster))
    cluster.restart()
    cluster.wait_ready()


def _data(cluster: KafkaCluster) -> Path:
    return cluster.directory / "node-1" / "data"


def assert_parked(stage: Stage, begin: int, end: str) -> None:
    reason = stage.carrying.until_parked(stage.place)
    assert f"older leader epochs: source offsets [{begin}, {end})" in reason
    assert "the cluster was restored with its metadata" in reason


def assert_goes_on_at(stage: Stage, offset: int, end: int) -> None:
    """Accepts the loss and carries to the source's end with another carrier, since the acceptance
    fences the one that parked it."""
    assert stage.carrying.accept(stage.place).source_offset == offset
    stage.hand(2).start().until_landed(stage.place, end)
    assert stage.entry.parked is None


@pytest.mark.core
def test_partitions_park_by_name_and_go_on_once_accepted(source, make_stage):
    stages = [make_stage(source=source) for _ in range(2)]
    for stage in stages:
        stage.send(BEFORE)
    keep_copy(source)
    begin_again(source)
    for stage in stages:
        stage.to_the_end(0)
        stage.send(SINCE)
        stage.hands[0].until_landed(stage.place, BEFORE + SINCE)
    # The first carrier keeps running; the second partition is acquired by a carrier that knows only
    # its ledger entry.
    carried_on, taken_anew = stages
    taken_anew.hands[0].finish()
    carried_on.hands[0].freeze()
    restore(source)
    carried_on.send(GROWN)
    carried_on.hands[0].thaw()
    taken_anew.hand(1).start()
    # The first log has grown past everything that was read; the second one lacks its end.
    assert_parked(carried_on, BEFORE + SINCE, "?")
    assert_parked(taken_anew, BEFORE, f"{BEFORE + SINCE}")
    assert_goes_on_at(carried_on, BEFORE + SINCE, BEFORE + GROWN)
    taken_anew.send(GROWN)
    assert_goes_on_at(taken_anew, BEFORE, BEFORE + GROWN)
