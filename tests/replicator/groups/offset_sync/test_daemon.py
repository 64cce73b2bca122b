"""Two clusters that are one end the daemon; no server is needed."""

import signal

import pytest

from replicator.config.topology import Appliance
from replicator.groups.offset_sync import daemon
from replicator.groups.offset_sync.daemon import Identities
from replicator.kafka.client.cluster_ids import ClusterIds, SameCluster


@pytest.fixture
def identities():
    cluster = {"bootstrap": ["127.0.0.1:1"]}, {"bootstrap": ["127.0.0.1:2"]}
    region = {"redis": "redis://h", "regional": cluster[0], "aggregate": cluster[1]}
    return Identities(Appliance.model_validate({"regions": {"east": region}}))


@pytest.fixture
def killed(monkeypatch):
    signals = []
    monkeypatch.setattr(daemon.os, "kill", lambda _, number: signals.append(number))
    return signals


async def one(self, *_):
    raise SameCluster("both answer with cluster id x")


async def none(self, *_):
    pass


def test_clusters_that_show_as_one_later_end_the_daemon_once(identities, killed, monkeypatch):
    monkeypatch.setattr(ClusterIds, "compare", none)
    identities.once()
    assert killed == []
    monkeypatch.setattr(ClusterIds, "compare", one)
    identities.once()
    identities.once()
    assert killed == [signal.SIGTERM]
    assert identities.clash


def test_clusters_that_are_one_at_the_start_keep_the_daemon_from_starting(identities, monkeypatch):
    monkeypatch.setattr(ClusterIds, "compare_routes_into", none)
    assert identities.are_distinct("east")
    monkeypatch.setattr(ClusterIds, "compare_routes_into", one)
    assert not identities.are_distinct("east")
    assert identities.clash
