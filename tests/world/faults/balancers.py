"""Faults of balancers: killed, stopped, doubled; and what makes them move partitions."""

from __future__ import annotations

import asyncio

from balancer.decision.placement import Scope
from replicator.orders.order_records import DEFAULT_STREAM, ByHand, Exclusion, Pin, key_of
from tests.world.faults.fault import Fault
from tests.world.mirror.balancing import BALANCERS_MAX, BalancerRun, Balancing, nothing
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.scene import Scene

PACES = (0.1, 0.5, 1.0, 4.0)
ORDER_SECONDS = (2.0, 15.0)
STOP_SECONDS = (1.0, 5.0, 20.0)


async def kill_balancer(scene: Scene) -> None:
    run = any_balancer(scene)
    if run:
        scene.tell(f"kill {run.process.name}")
        run.process.kill()


async def stop_balancer(scene: Scene) -> None:
    """Stops a balancer; often another one is started meanwhile, as by a second host."""
    run = any_balancer(scene)
    if run:
        seconds = scene.dice.choice(STOP_SECONDS)
        scene.tell(f"stop {run.process.name} for {seconds} s")
        run.process.stop()
        scene.loop.call_later(seconds, run.process.resume)
        if scene.dice.random() < 0.7:
            await second_balancer(scene)


async def second_balancer(scene: Scene) -> None:
    balancing = _balancing(scene)
    if len(balancing.running()) < BALANCERS_MAX:
        made = balancing.start()
        scene.tell(f"start {made.process.name} beside the others")


async def overtake_as_it_opens(scene: Scene) -> None:
    """Lets a balancer die between its fence and its lease. As the one before opens its producer
    again, it stands still, and a third one comes."""
    balancing, victim = _balancing(scene), any_balancer(scene)
    if victim is None or len(balancing.running()) > 1 or balancing.opening is not nothing:
        return
    seconds = scene.dice.uniform(2.0, 12.0)
    dying = balancing.start()
    scene.tell(f"{dying.process.name} is to die with its fence, and then {victim.process.name}")

    def opened(run: BalancerRun) -> None:
        if run is dying:
            run.process.kill()

    def opening(run: BalancerRun) -> None:
        if run is victim:
            balancing.opening = nothing
            scene.tell(f"stop {run.process.name} as it opens its producer, for {seconds:.1f} s")
            run.process.stop()
            scene.world.network.outside(scene.loop.time() + seconds, run.process.resume)
            balancing.start()

    balancing.opened, balancing.opening = opened, opening
    # What it then has to write.
    await place_by_hand(scene)


async def shift_load(scene: Scene) -> None:
    """Lets some partitions take in more from now on, and others less."""
    for sender in scene.senders:
        sender.pace = scene.dice.choice(PACES)
    scene.tell(f"paces {[sender.pace for sender in scene.senders]}")


async def exclude(scene: Scene) -> None:
    """Excludes a carrier for a while."""
    said = {"route": ROUTE.key, "at_ms": 0, "who": "operator"}
    order = Exclusion(**said, carrier=scene.dice.choice([0, 1, 2]))
    _for_a_while(scene, order)


async def pin(scene: Scene) -> None:
    """Pins a partition to a carrier for a while."""
    place = scene.dice.choice(scene.places)
    said = {"route": ROUTE.key, "at_ms": 0, "who": "operator"}
    number = scene.dice.choice([0, 1, 2])
    _for_a_while(scene, Pin(**said, topic=place.topic, partition=place.partition, carrier=number))


def _for_a_while(scene: Scene, order: Exclusion | Pin) -> None:
    seconds = scene.dice.uniform(*ORDER_SECONDS)
    scene.tell(f"{order.kind} {order.subject} for {seconds:.1f} s")
    mirroring = scene.mirroring

    async def give() -> None:
        await mirroring.order([order])
        await asyncio.sleep(seconds)
        await mirroring.order(tombstones=[key_of(order)])

    mirroring.background(give())


async def place_by_hand(scene: Scene) -> None:
    """Orders that everything is placed anew."""
    placed = scene.mirroring.standing().placed(DEFAULT_STREAM)
    if placed:
        generation = placed["generation"]
        scene.tell(f"place by hand upon generation {generation}")
        scene.mirroring.order(
            [
                ByHand(
                    route=ROUTE.key,
                    at_ms=0,
                    who="operator",
                    id=f"{scene.dice.getrandbits(32)}",
                    scope=Scope.FULL,
                    generation=generation,
                )
            ]
        )


def any_balancer(scene: Scene) -> BalancerRun | None:
    """Returns a balancer that runs and is not stopped."""
    running = [run for run in _balancing(scene).running() if not run.process.is_stopped]
    return scene.dice.choice(running) if running else None


def _balancing(scene: Scene) -> Balancing:
    assert scene.mirroring.balancing is not None
    return scene.mirroring.balancing


BALANCERS = (
    Fault("kill a balancer", kill_balancer, 6, 1.0),
    Fault("stop a balancer", stop_balancer, 8, 1.0),
    Fault("start a second balancer", second_balancer, 4, 1.0),
    Fault("shift the load", shift_load, 6, 1.0),
    Fault("exclude a carrier", exclude, 4, 1.0),
    Fault("pin a partition", pin, 4, 1.0),
    Fault("place by hand", place_by_hand, 4, 1.0),
)
OVERTAKINGS = (Fault("overtake a balancer as it opens its producer", overtake_as_it_opens),)
