"""Faults of connections: answers that get lost, requests that arrive late, quotas, slow lines."""

from __future__ import annotations

from tests.world.faults.fault import Fault
from tests.world.mirror.scene import Scene
from tests.world.network import Delays


async def lose_answers(scene: Scene) -> None:
    """Ends connections: the requests on their way arrive in time, and no answer does."""
    cluster = scene.any_cluster()
    broker = scene.dice.choice(list(cluster.brokers.values()))
    scene.tell(f"answers of {cluster.name} {broker.node} get lost")
    cluster.network.part([broker.address], lambda: 0.0)


async def deliver_late(scene: Scene) -> None:
    """Ends connections: the requests arrive when the clients have new ones, or are gone."""
    cluster = scene.any_cluster()
    broker = scene.dice.choice(list(cluster.brokers.values()))
    # No request is so late that the broker has forgotten its producer.
    longest = min(scene.dice.choice([0.3, 3.0, 20.0]), cluster.producer_expiry_seconds / 4)
    scene.tell(f"requests to {cluster.name} {broker.node} are up to {longest} s late")
    cluster.network.part([broker.address], lambda: scene.dice.uniform(0.0, longest))


async def slow_lines(scene: Scene) -> None:
    network = scene.world.network
    seconds = scene.dice.uniform(0.5, 8.0)
    scene.tell(f"slow lines for {seconds:.1f} s")
    network.delays = Delays(usual=0.02, longest=4.0, long_share=0.1)
    network.outside(scene.loop.time() + seconds, setattr, network, "delays", Delays())


async def throttle(scene: Scene) -> None:
    cluster = scene.any_cluster()
    seconds, pause = scene.dice.uniform(1.0, 10.0), scene.dice.choice([0.1, 1.0, 3.0])
    scene.tell(f"clients of {cluster.name} exceed their quota for {seconds:.1f} s")
    for broker in cluster.brokers.values():
        broker.throttle_seconds = pause
        cluster.later(seconds, setattr, broker, "throttle_seconds", 0.0)


async def evict_sessions(scene: Scene) -> None:
    """Other clients take the slots of all fetch sessions."""
    cluster = scene.any_cluster()
    scene.tell(f"fetch sessions of {cluster.name} are evicted")
    for broker in cluster.brokers.values():
        broker.memory.get("fetch sessions", {}).clear()


FAULTS = (
    Fault("answers get lost", lose_answers, 2),
    Fault("requests arrive late", deliver_late, 3),
    Fault("slow lines", slow_lines, 1),
    Fault("quota", throttle, 1),
    Fault("evict fetch sessions", evict_sessions, 1),
)
