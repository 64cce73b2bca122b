"""A cluster that refuses every connection is found out before a client tries it for long."""

from __future__ import annotations

import time

import pytest

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_error import AdminUnreachable
from replicator.kafka.admin.listening import REFUSAL_SECONDS, check_listening
from tests.addresses import dropping, refusing, silent


def test_refused_connections_are_told_with_the_addresses():
    address = refusing()
    with pytest.raises(AdminUnreachable, match=f"{address} .Connection refused.; is it up"):
        check_listening("west regional", KafkaCluster(bootstrap=(address,)))


def test_a_host_name_that_nobody_knows_is_told():
    cluster = KafkaCluster(bootstrap=("kafka.invalid:9092",))
    with pytest.raises(AdminUnreachable, match=r"kafka\.invalid"):
        check_listening("west regional", cluster)


def test_one_address_that_accepts_is_enough():
    with silent() as address:
        check_listening("west", KafkaCluster(bootstrap=(refusing(), address)))


def test_an_address_that_neither_accepts_nor_refuses_is_left_to_the_client():
    with dropping() as address:
        began = time.monotonic()
        check_listening("west", KafkaCluster(bootstrap=(address, refusing())))
        assert time.monotonic() - began >= REFUSAL_SECONDS
