"""Ledger entries read from outside the carriers, again and again by one reader."""

from __future__ import annotations

import threading

import pytest

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster
from replicator.config import topology
from replicator.kafka.client.brokers import Unreachable
from replicator.mirror.ledger.entry import encode
from replicator.mirror.ledger.ledger_reader import LedgerReader
from tests.addresses import silent
from tests.live.conftest import TopicMaker
from tests.live.test_status import ROUTE, committed
from tests.replicator.mirror.ledger.held import held


def test_a_reader_reads_anew_over_the_connections_that_it_has(
    aggregate: KafkaCluster, make_topic: TopicMaker
) -> None:
    place = TopicPartition(make_topic(aggregate, partitions=1), 0)
    settings = topology.KafkaCluster(bootstrap=tuple(aggregate.bootstrap.split(",")))
    with LedgerReader("west aggregate", settings, 30.0) as reader:
        assert reader.entries({ROUTE: [place]})[ROUTE].read == {}
        cluster = reader.cluster
        for offset in (5, 9):
            entry = held(source_offset=offset, target_offset=offset)
            committed(aggregate, place, *encode(entry))
            assert reader.entries({ROUTE: [place]})[ROUTE].read == {place: entry}
        assert reader.cluster is cluster is not None


def test_a_reader_works_in_a_thread_and_closes_there(aggregate: KafkaCluster) -> None:
    settings = topology.KafkaCluster(bootstrap=tuple(aggregate.bootstrap.split(",")))
    found: list[object] = []

    def read() -> None:
        with LedgerReader("west aggregate", settings, 30.0) as reader:
            found.append(reader.entries({ROUTE: []})[ROUTE].read)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join(60)
    assert found == [{}]


def test_a_silent_cluster_is_told_after_the_timeout_and_asked_again() -> None:
    with silent() as address:
        settings = topology.KafkaCluster(bootstrap=(address,))
        with LedgerReader("west aggregate", settings, 0.3) as reader:
            for _ in range(2):
                with pytest.raises(Unreachable, match=r"took longer than 0\.3 s"):
                    reader.entries({ROUTE: []})
                assert reader.cluster is None
