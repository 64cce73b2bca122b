"""Faults of an upsert table: daemons, servers of ClickHouse and brokers."""

from __future__ import annotations

import random
from dataclasses import replace

from balancer.topic_partition import TopicPartition
from tests.world.faults import brokers
from tests.world.faults.fault import Fault
from tests.world.kafka.partition import Partition
from tests.world.process import Process
from tests.world.sinks import faults as of_sinks
from tests.world.sinks.loader_faults import later
from tests.world.upserts.load import UpsertSender
from tests.world.upserts.scene import CLUSTERS, Scene

PARTITIONS_MAX = 4
STOP_SECONDS = (0.5, 3.0, 12.0, 20.0)


async def kill_daemon(scene: Scene) -> None:
    """Kills the daemon after some of its turns; another one starts soon."""
    turns = scene.dice.choice([0, 3, 30, 100, 300])
    if running := scene.running():
        victim = running[-1]
        scene.tell(f"kill {victim.name} after {turns} turns")
        victim.strike(turns, lambda: _killed(scene, victim))
    elif not scene.daemons[-1].is_running:
        scene.start_daemon()


def _killed(scene: Scene, victim: Process) -> None:
    scene.tell(f"{victim.name} is killed")
    victim.kill()
    later(scene, scene.dice.choice([0.1, 2.0]), _follow, scene)


def _follow(scene: Scene) -> None:
    if not scene.daemons[-1].is_running:
        scene.start_daemon()


async def stop_daemon(scene: Scene) -> None:
    """Stops the daemon for a while; mostly another one takes over meanwhile."""
    if running := scene.running():
        victim, seconds = running[-1], scene.dice.choice(STOP_SECONDS)
        turns = scene.dice.choice([0, 3, 30, 100])
        follows = scene.dice.random() < 0.7

        def stop() -> None:
            scene.tell(f"stop {victim.name} for {seconds} s")
            victim.stop()
            later(scene, seconds, victim.resume)
            if follows:
                later(scene, 0.2, scene.start_daemon)

        victim.strike(turns, stop)


async def add_partition(scene: Scene) -> None:
    """Adds a partition to a topic, with some records."""
    name, (topic, _) = scene.dice.choice(list(CLUSTERS.items()))
    cluster = scene.clusters[name]
    known = cluster.topics[topic]
    if len(known.partitions) >= PARTITIONS_MAX:
        return
    scene.tell(f"{name} gets {topic}-{len(known.partitions)}")
    made = Partition(
        topic, known.id, len(known.partitions), known.partitions[0].replicas, min_in_sync=2
    )
    known.partitions.append(made)
    if made.decided.leader not in cluster.alive:
        cluster.elect_another(made)
    scene.truth.watch(name, made)
    place = TopicPartition(topic, made.number)
    sender = UpsertSender(cluster, place, random.Random(scene.dice.random()))
    scene.loop.in_background(sender.send(scene.dice.randint(1, 20)))


FAULTS: tuple[Fault[Scene], ...] = (
    Fault("kill the daemon", kill_daemon, 4),
    Fault("stop the daemon", stop_daemon, 3),
    Fault("add a partition", add_partition, 1),
    Fault("kill a server", of_sinks.kill_server, 2),  # type: ignore[arg-type]
    Fault("stop a server", of_sinks.stop_server, 2),  # type: ignore[arg-type]
    Fault("slow server", of_sinks.slow_server, 2),  # type: ignore[arg-type]
    Fault("cut lines", of_sinks.cut_lines, 2),  # type: ignore[arg-type]
    Fault("lose a session", of_sinks.lose_session, 2),  # type: ignore[arg-type]
    *(replace(each, weight=1) for each in brokers.FAULTS),
)
NAMED = (
    Fault("lose answers", of_sinks.lose_answers, 2),  # type: ignore[arg-type]
    Fault("rebuild a server", of_sinks.rebuild_server, 2),  # type: ignore[arg-type]
)
"""Dealt only where a course names them. A part whose commit got no answer is shown until the server
removes it, and the rows of its repeat beside it. A server that is rebuilt has parts before their
ends."""
