"""Faults of brokers: killed, stopped, cut off, and leaders that change places."""

from __future__ import annotations

from tests.world.faults.fault import Fault
from tests.world.faults.scenes import ClusterScene
from tests.world.kafka.kafka_cluster import KafkaCluster


async def cut_connections(scene: ClusterScene) -> None:
    cluster = scene.any_cluster()
    broker = scene.dice.choice(list(cluster.brokers.values()))
    scene.tell(f"cut connections of {cluster.name} {broker.node}")
    cluster.network.cut([broker.address])


async def kill_broker(scene: ClusterScene) -> None:
    cluster, node = victim(scene)
    if node:
        scene.tell(f"kill {cluster.name} {node}")
        cluster.kill(node)
        cluster.later(scene.dice.uniform(0.5, 15.0), _restart, scene, cluster, node)


def _restart(scene: ClusterScene, cluster: KafkaCluster, node: int) -> None:
    if not cluster.brokers[node].is_up:
        scene.tell(f"start {cluster.name} {node}")
        cluster.start(node)


async def stop_broker(scene: ClusterScene) -> None:
    cluster, node = victim(scene)
    if node:
        scene.tell(f"stop {cluster.name} {node}")
        cluster.stop(node)
        cluster.later(scene.dice.uniform(0.5, 15.0), cluster.resume, node)


async def isolate_broker(scene: ClusterScene) -> None:
    cluster, node = victim(scene)
    if node:
        scene.tell(f"isolate {cluster.name} {node}")
        cluster.isolate(node)
        cluster.later(scene.dice.uniform(0.5, 15.0), cluster.rejoin, node)


async def prefer(scene: ClusterScene) -> None:
    cluster = scene.any_cluster()
    scene.tell(f"preferred election in {cluster.name}")
    for partition in cluster.partitions():
        preferred = partition.replicas[0]
        is_able = preferred in partition.decided.in_sync and cluster.is_connected(preferred)
        if is_able and partition.decided.leader != preferred:
            cluster.elect(partition, preferred)


def victim(scene: ClusterScene) -> tuple[KafkaCluster, int]:
    """Returns a broker whose loss leaves the cluster a majority; 0 for none."""
    cluster = scene.any_cluster()
    well = [node for node in cluster.brokers if cluster.is_connected(node)]
    return cluster, scene.dice.choice(well) if len(well) == len(cluster.brokers) else 0


FAULTS = (
    Fault("cut connections", cut_connections, 3),
    Fault("kill a broker", kill_broker, 3),
    Fault("stop a broker", stop_broker, 2),
    Fault("isolate a broker", isolate_broker, 2),
    Fault("preferred election", prefer, 2),
)
