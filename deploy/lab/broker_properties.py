"""What the nodes of a lab cluster are told: pure functions from names and ports to properties."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deploy.lab.credentials import KAFKA_PROTOCOLS, Credentials


@dataclass(frozen=True, slots=True)
class Node:
    """One JVM of a cluster. Ports are 0 for the listeners it does not have."""

    number: int
    is_broker: bool
    is_controller: bool
    client_port: int = 0
    internal_port: int = 0
    controller_port: int = 0


def node_properties(
    node: Node,
    nodes: Sequence[Node],
    credentials: Credentials,
    data_directory: str,
    overrides: Mapping[str, str],
) -> dict[str, str]:
    """Everything in the node's server.properties; overrides win."""
    listeners = _listeners(node)
    voters = (f"{n.number}@127.0.0.1:{n.controller_port}" for n in nodes if n.is_controller)
    properties = {
        "node.id": str(node.number),
        "process.roles": ",".join(
            role
            for role, has in (("broker", node.is_broker), ("controller", node.is_controller))
            if has
        ),
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items()),
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,"
        f"CLIENT:{KAFKA_PROTOCOLS[credentials.protocol]}",
        "log.dirs": data_directory,
    }
    if node.is_broker:
        properties["inter.broker.listener.name"] = "INTERNAL"
        properties |= credentials.broker_properties("CLIENT")
    brokers = sum(n.is_broker for n in nodes)
    return {**properties, **_small_machine(), **_replication(brokers), **overrides}


def _listeners(node: Node) -> dict[str, int]:
    named = {
        "CLIENT": node.client_port,
        "INTERNAL": node.internal_port,
        "CONTROLLER": node.controller_port,
    }
    return {name: port for name, port in named.items() if port}


def _small_machine() -> dict[str, str]:
    """Nothing here changes what a broker promises; it starts sooner and needs less memory."""
    return {
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "8",
        "transaction.state.log.num.partitions": "8",
        "share.coordinator.state.topic.num.partitions": "1",
        "num.network.threads": "2",
        "num.io.threads": "4",
        # 128 MiB unless told, a quarter of the lab's heap; 16 MiB holds 600 000 keys a pass.
        "log.cleaner.dedupe.buffer.size": str(16 << 20),
        # How soon a broker that starts is let in, and how long a killed one is held to be alive:
        # before that it may not come back (9 s unless told).
        "broker.heartbeat.interval.ms": "500",
        "broker.session.timeout.ms": "4000",
    }


def _replication(brokers: int) -> dict[str, str]:
    """Copies of each partition: three where there are three brokers, with two in sync to write."""
    copies = min(3, brokers)
    in_sync = max(1, copies - 1)
    return {
        "default.replication.factor": str(copies),
        "min.insync.replicas": str(in_sync),
        "offsets.topic.replication.factor": str(copies),
        "transaction.state.log.replication.factor": str(copies),
        "transaction.state.log.min.isr": str(in_sync),
        "share.coordinator.state.topic.replication.factor": str(copies),
        "share.coordinator.state.topic.min.isr": str(in_sync),
    }
