"""Properties of the nodes of a lab cluster: pure functions of names and ports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deploy.lab.credentials import KAFKA_PROTOCOLS, Credentials


@dataclass(frozen=True, slots=True)
class Node:
    """A JVM of a cluster. The port of a listener that it does not have is 0."""

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
    """Returns everything in the node's server.properties; overrides win."""
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
    """Settings for a quick start and little memory; none of them changes a broker's guarantees."""
    return {
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "8",
        "transaction.state.log.num.partitions": "8",
        "share.coordinator.state.topic.num.partitions": "1",
        "num.network.threads": "2",
        "num.io.threads": "4",
        # The default of 128 MiB is a quarter of the lab's heap; 16 MiB hold 600 000 keys per pass.
        "log.cleaner.dedupe.buffer.size": str(16 << 20),
        # An idle controller writes a record of nothing each half second, which every node applies:
        # a quarter of what an idle broker computes.
        "metadata.max.idle.interval.ms": "10000",
        # The interval decides how soon a starting broker is unfenced. Until the timeout a killed
        # broker counts as alive, and cannot register again (default 9 s).
        "broker.heartbeat.interval.ms": "500",
        "broker.session.timeout.ms": "4000",
    }


def _replication(brokers: int) -> dict[str, str]:
    """Replication settings: three copies where there are three brokers, two of them in sync to
    write."""
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
