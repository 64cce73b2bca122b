"""Claims about addresses; those of Redis are tested with the whole file (test_topology.py)."""

import pytest
from pydantic import ValidationError

from replicator.config.topology import KafkaCluster


@pytest.mark.parametrize("address", ["h", "h:", ":1", "h:0", "h:65536", "h:1/x", "a b:1", "h,i:1"])
def test_an_address_is_host_and_port(address: str) -> None:
    with pytest.raises(ValidationError, match="host:port"):
        KafkaCluster(bootstrap=(address,))


def test_an_ipv6_address_is_an_address() -> None:
    assert KafkaCluster(bootstrap=("[::1]:9092",)).bootstrap == ("[::1]:9092",)


def test_a_cluster_has_addresses_and_each_once() -> None:
    with pytest.raises(ValidationError, match="at least one host:port"):
        KafkaCluster(bootstrap=())
    with pytest.raises(ValidationError, match="listed twice: h:1"):
        KafkaCluster(bootstrap=("h:1", "H:1"))
