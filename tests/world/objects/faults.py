"""Faults of a feed into objects: loaders, drivers and the store; brokers fail as for carriers."""

from __future__ import annotations

from dataclasses import replace

from tests.world.faults import brokers
from tests.world.faults.fault import Fault
from tests.world.objects.scene import Scene
from tests.world.objects.server import (
    COMPLETE,
    PART,
    PUT,
    WRITES,
    Armed,
    Condition,
    Order,
    RequestFate,
)
from tests.world.objects.step_checks import FOREIGN
from tests.world.process import Process
from tests.world.sinks import loader_faults
from tests.world.sinks.loader_faults import STOP_SECONDS, later, strike_later

BEGIN, HEAD = "CreateMultipartUpload", "HeadObject"
LISTING, ABORT = "ListMultipartUploads", "AbortMultipartUpload"
ANY = (PART, BEGIN, HEAD, LISTING, ABORT, *WRITES)
SECONDS = (0.3, 2.0, 8.0)


def order(scene: Scene, operations: tuple[str, ...], fates: tuple[RequestFate, ...]) -> None:
    """Orders one of these fates for some of these requests."""
    seconds, share = scene.dice.choice(SECONDS), scene.dice.choice([0.2, 0.6, 1.0])
    fate = scene.dice.choice(fates)
    scene.tell(f"{fate.name} for {share} of {operations} for {seconds} s")
    until = scene.loop.time() + seconds
    scene.server.orders.append(Order(operations, fate, share, until))


async def late_completions(scene: Scene) -> None:
    order(scene, WRITES, (RequestFate.LATE,))


async def late_requests(scene: Scene) -> None:
    order(scene, (PART, BEGIN, ABORT, *WRITES), (RequestFate.LATE,))


async def lose_answers(scene: Scene) -> None:
    order(
        scene, scene.dice.choice([ANY, WRITES]), (RequestFate.LOSE_ANSWER, RequestFate.ERROR_BEHIND)
    )


async def refuse_requests(scene: Scene) -> None:
    fates = (
        RequestFate.CUT,
        RequestFate.BROKEN,
        RequestFate.SLOW_DOWN,
        RequestFate.DISK_FULL,
        RequestFate.DENIED,
    )
    order(scene, scene.dice.choice([ANY, (HEAD,), WRITES, (PART, BEGIN)]), fates)


async def refuse_completions(scene: Scene) -> None:
    order(scene, WRITES, (RequestFate.CONFLICT, RequestFate.ERROR_IN_SUCCESS))


async def die_within(scene: Scene) -> None:
    """Has the server die within completions, and say that it is done."""
    order(scene, WRITES, (RequestFate.DIES_WITHIN,))


async def sweep_uploads(scene: Scene) -> None:
    uploads = scene.server.uploads
    swept = [each for each in uploads if scene.dice.random() < 0.6]
    scene.tell(f"{len(swept)} of {len(uploads)} uploads are swept")
    for each in swept:
        del uploads[each]


async def bucket_gone(scene: Scene) -> None:
    seconds = scene.dice.uniform(0.5, 10.0)
    scene.tell(f"no bucket for {seconds:.1f} s")
    scene.server.is_gone = True
    later(scene, seconds, setattr, scene.server, "is_gone", False)


async def slow_store(scene: Scene) -> None:
    scene.server.slowness = scene.dice.choice([30.0, 300.0])
    scene.tell("the store is slow")
    later(scene, scene.dice.uniform(1.0, 10.0), setattr, scene.server, "slowness", 1.0)


async def strike_at_request(scene: Scene) -> None:
    """Kills or stops a loader just when a request of its is acted on."""
    operation = scene.dice.choice([PART, HEAD, HEAD, PUT, PUT, COMPLETE, COMPLETE])
    is_behind, kills = scene.dice.random() < 0.6, scene.dice.random() < 0.5
    seconds, delay = scene.dice.choice(STOP_SECONDS), scene.dice.choice([0.0, 0.002, 0.01])

    def strike(_: str, victim: Process | None) -> None:
        if victim is not None:
            strike_later(scene, delay, hit, victim)

    def hit(victim: Process) -> None:
        how = "kill" if kills else f"stop for {seconds} s"
        scene.tell(f"{how} {victim.name} at its {operation}")
        if kills:
            victim.kill()
        else:
            victim.stop()
            later(scene, seconds, victim.resume)
        if scene.dice.random() < 0.8:
            scene.plan_soon()

    scene.server.armed = Armed(operation, is_behind, strike)


async def take_name(scene: Scene) -> None:
    """Lets somebody write an object under the name of one that is about to be completed."""
    if scene.feeding.server.kind.condition is not Condition.KEPT:
        return  # the ledger alone fences there: nothing stands against others

    def take(key: str, _: Process | None) -> None:
        if key not in scene.server.objects:
            scene.tell(f"somebody takes {key}")
            scene.server.write(key, FOREIGN, {})

    scene.server.armed = Armed(scene.dice.choice(WRITES), False, take)


STORE = (
    Fault("late completions", late_completions, 4),
    Fault("late requests", late_requests, 2),
    Fault("lose answers of the store", lose_answers, 3),
    Fault("refuse requests", refuse_requests, 2),
    Fault("refuse completions", refuse_completions, 2),
    Fault("die within completions", die_within, 2),
    Fault("sweep uploads", sweep_uploads, 2),
    Fault("no bucket", bucket_gone, 1),
    Fault("slow store", slow_store, 2),
    Fault("strike at a request", strike_at_request, 5),
    Fault("take a name", take_name, 1),
)
FAULTS = (
    *loader_faults.FAULTS,
    *STORE,
    *(replace(each, weight=1) for each in brokers.FAULTS),
)
