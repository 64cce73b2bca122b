"""Faults of an object store: its requests fail or come late, and it is slow, or away."""

from __future__ import annotations

import random
from typing import Protocol

from tests.world.faults.fault import Fault
from tests.world.objects.server import PART, WRITES, ObjectServer, Order, RequestFate
from tests.world.sinks.loader_faults import later
from tests.world.virtual_loop import VirtualLoop

BEGIN, HEAD = "CreateMultipartUpload", "HeadObject"
LISTING, ABORT = "ListMultipartUploads", "AbortMultipartUpload"
ANY = (PART, BEGIN, HEAD, LISTING, ABORT, *WRITES)
SECONDS = (0.3, 2.0, 8.0)


class StoreScene(Protocol):
    """Scene with an object store."""

    dice: random.Random

    @property
    def loop(self) -> VirtualLoop: ...

    @property
    def server(self) -> ObjectServer: ...

    def tell(self, text: str) -> None: ...


def order(scene: StoreScene, operations: tuple[str, ...], fates: tuple[RequestFate, ...]) -> None:
    """Orders one of these fates for some of these requests."""
    seconds, share = scene.dice.choice(SECONDS), scene.dice.choice([0.2, 0.6, 1.0])
    fate = scene.dice.choice(fates)
    scene.tell(f"{fate.name} for {share} of {operations} for {seconds} s")
    until = scene.loop.time() + seconds
    scene.server.orders.append(Order(operations, fate, share, until))


async def late_completions(scene: StoreScene) -> None:
    order(scene, WRITES, (RequestFate.LATE,))


async def late_requests(scene: StoreScene) -> None:
    order(scene, (PART, BEGIN, ABORT, *WRITES), (RequestFate.LATE,))


async def lose_answers(scene: StoreScene) -> None:
    order(
        scene, scene.dice.choice([ANY, WRITES]), (RequestFate.LOSE_ANSWER, RequestFate.ERROR_BEHIND)
    )


async def refuse_requests(scene: StoreScene) -> None:
    fates = (
        RequestFate.CUT,
        RequestFate.BROKEN,
        RequestFate.SLOW_DOWN,
        RequestFate.DISK_FULL,
        RequestFate.DENIED,
    )
    order(scene, scene.dice.choice([ANY, (HEAD,), WRITES, (PART, BEGIN)]), fates)


async def refuse_completions(scene: StoreScene) -> None:
    order(scene, WRITES, (RequestFate.CONFLICT, RequestFate.ERROR_IN_SUCCESS))


async def die_within(scene: StoreScene) -> None:
    """Has the server die within completions, and say that it is done."""
    order(scene, WRITES, (RequestFate.DIES_WITHIN,))


async def sweep_uploads(scene: StoreScene) -> None:
    uploads = scene.server.uploads
    swept = [each for each in uploads if scene.dice.random() < 0.6]
    scene.tell(f"{len(swept)} of {len(uploads)} uploads are swept")
    for each in swept:
        del uploads[each]


async def bucket_gone(scene: StoreScene) -> None:
    seconds = scene.dice.uniform(0.5, 10.0)
    scene.tell(f"no bucket for {seconds:.1f} s")
    scene.server.is_gone = True
    later(scene, seconds, setattr, scene.server, "is_gone", False)


async def slow_store(scene: StoreScene) -> None:
    scene.server.slowness = scene.dice.choice([30.0, 300.0])
    scene.tell("the store is slow")
    later(scene, scene.dice.uniform(1.0, 10.0), setattr, scene.server, "slowness", 1.0)


FAULTS: tuple[Fault[StoreScene], ...] = (
    Fault("late completions", late_completions, 4),
    Fault("late requests", late_requests, 2),
    Fault("lose answers of the store", lose_answers, 3),
    Fault("refuse requests", refuse_requests, 2),
    Fault("refuse completions", refuse_completions, 2),
    Fault("die within completions", die_within, 2),
    Fault("sweep uploads", sweep_uploads, 2),
    Fault("no bucket", bucket_gone, 1),
    Fault("slow store", slow_store, 2),
)
