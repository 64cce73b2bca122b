"""Access control lists of a cluster with an authorizer, kept over its internal listener."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka.admin import AclBinding, AclBindingFilter, AdminClient

from deploy.lab.kafka import KafkaCluster

SECONDS = 60
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # Brokers among themselves, and the lab's own admin client on the internal listener.
    "super.users": "User:ANONYMOUS",
}


def add(cluster: KafkaCluster, bindings: Iterable[AclBinding]) -> None:
    """Adds rules; a client of the internal listener has all rights."""
    keeper = _keeper(cluster)
    for answer in keeper.create_acls([*bindings], request_timeout=SECONDS).values():
        answer.result(SECONDS)


def remove(cluster: KafkaCluster, bindings: Iterable[AclBinding]) -> None:
    """Removes exactly these rules."""
    keeper, filters = _keeper(cluster), [_filter(each) for each in bindings]
    for answer in keeper.delete_acls(filters, request_timeout=SECONDS).values():
        answer.result(SECONDS)


def _keeper(cluster: KafkaCluster) -> AdminClient:
    """Returns a client that has all rights. Its caller holds it until every answer has come."""
    address = f"127.0.0.1:{cluster.nodes[0].internal_port}"
    return AdminClient({"bootstrap.servers": address, "log_level": 0})


def _filter(binding: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        binding.restype,
        binding.name,
        binding.resource_pattern_type,
        binding.principal,
        binding.host,
        binding.operation,
        binding.permission_type,
    )
