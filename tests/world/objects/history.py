"""History of one seed: a feed into objects, while loaders, the store and brokers fail.

At the end the faults are mended, and every record has to be in one object, or a dead letter, or
left out, within a bound of virtual time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from aggregator.loader import loss_acceptance, object_forming
from aggregator.loader.loader_assembly import MAKERS, Makers
from aggregator.objects import object_progress
from aggregator.s3 import open_object
from replicator.kafka.client.cluster import Fenced
from replicator.kafka.client.loss import LossKind
from tests.world.objects.end_checks import differences
from tests.world.objects.faults import EPOCHS, FAULTS
from tests.world.objects.forgetting import FORGETS
from tests.world.objects.log_checks import LogChecks
from tests.world.objects.losses import LOSSES, SEALED
from tests.world.objects.overwriting import keep_overwriting
from tests.world.objects.scene import Course, ObjectLoop, Scene
from tests.world.objects.step_checks import FOREIGN
from tests.world.objects.sweeping import SWEEPING
from tests.world.outcome import Outcome
from tests.world.replay import WHOLE, Replay, replayed
from tests.world.sinks import letters, other_logs, resting
from tests.world.sinks.feed_history import FeedHistory
from tests.world.sinks.loaded_feed import FEED
from tests.world.sinks.sink_loop import run

PARKED_SECONDS = 15.0
"""Bound of the time until a partition is parked for a record at which its loader fails."""


class History(FeedHistory[Scene]):
    """History of one scene."""

    async def before_faults(self) -> None:
        """Lets operators begin, where the course has some, and watches the age of objects."""
        if self.scene.course.late_seconds is not None:
            self._watch = self.scene.loop.in_background(self._keep_watching())
        if self.scene.course.overwrites:
            self._operator = self.scene.loop.in_background(keep_overwriting(self.scene))
        if self.scene.restoring:
            self._operator = self.scene.loop.in_background(self.scene.restoring.keep_restoring())

    async def _keep_watching(self) -> None:
        course, checks = self.scene.course, self.scene.checks
        assert checks is not None and course.late_seconds is not None
        bound_seconds = course.late_seconds + (self.scene.feeding.settings.age_seconds or 0.0)
        while self.scene.loop.time() < course.seconds:
            await asyncio.sleep(1.0)
            checks.check_waits(bound_seconds)

    def mend_store(self) -> None:
        if self.scene.feeding.defect:
            assert self.scene.checks is not None
            self.scene.checks.check_parked(PARKED_SECONDS)
            self.scene.feeding.defect.is_mended = True
        if self.scene.letters:
            self.scene.letters.topic.limit(letters.LIMITS[-1])
        server = self.scene.server
        server.orders, server.armed, server.is_gone, server.slowness = [], None, False, 1.0

    def differences(self) -> list[str]:
        assert self.scene.checks is not None
        if isinstance(self.scene.checks, LogChecks):
            return self.scene.checks.differences()
        found = differences(self.scene.feeding, self.scene.checks)
        if self.scene.letters:
            found += self.scene.letters.differences(self.scene.checks.intents)
        return found + (self.scene.restoring.differences() if self.scene.restoring else [])

    async def while_waiting(self) -> None:
        """Moves the objects of others away, and accepts what partitions are parked for."""
        scene, checks = self.scene, self.scene.checks
        assert checks is not None
        if scene.course.accepting:
            await other_logs.accept_losses(scene)
        elif scene.course.driving or scene.letters:
            await resting.accept_letters(scene)
        for key, stored in list(scene.server.objects.items()):
            if stored.data.startswith(FOREIGN):
                del scene.server.objects[key]
        parked = [
            place
            for place, found in checks.intents.items()
            if (loss := found[-1].parked)
            and loss.kind in (LossKind.OBJECT_TAKEN, LossKind.LOADER_FAILED)
        ]
        if parked:
            scene.tell(f"losses of {len(parked)} partitions are accepted")
            try:
                await loss_acceptance.accept(scene.feeding.client, FEED, parked)
            except Fenced:
                scene.tell("a loader was faster")


@contextmanager
def _limits(course: Course) -> Iterator[None]:
    """Gives loaders the limits of a course: with lower ones a short history has what takes ten
    thousand folders, or minutes."""
    before = object_progress.NAMED_MAX, object_progress.UNTOLD_SECONDS
    of_forming = object_forming.TAKEN_BYTES, object_forming.LETTERS_BYTES_MAX
    object_progress.NAMED_MAX = course.named_max
    object_progress.UNTOLD_SECONDS = course.untold_seconds
    object_forming.TAKEN_BYTES = course.taken_bytes
    object_forming.LETTERS_BYTES_MAX = course.letters_bytes
    try:
        yield
    finally:
        object_progress.NAMED_MAX, object_progress.UNTOLD_SECONDS = before
        object_forming.TAKEN_BYTES, object_forming.LETTERS_BYTES_MAX = of_forming


@contextmanager
def _tokens(seed: int) -> Iterator[None]:
    """Has objects' tokens decided by the seed: with them intents have other lengths."""
    dice, before = random.Random(f"{seed} tokens"), open_object.secrets.token_hex
    open_object.secrets.token_hex = lambda size=4: dice.randbytes(size).hex()  # type: ignore[assignment]
    try:
        yield
    finally:
        open_object.secrets.token_hex = before


def play(
    seed: int, course: Course | None = None, makers: Makers = MAKERS, replay: Replay = WHOLE
) -> Outcome:
    """Plays the history of a seed; raises Wrong with the history's log."""
    course = course or Course()
    named = (
        (*SWEEPING, *FORGETS, *EPOCHS, *resting.FAULTS, *other_logs.FAULTS, SEALED, *letters.FAULTS)
        if course.only
        else ()
    )
    faults = (*FAULTS, *(LOSSES if course.loses else ()), *named)

    def make(loop: ObjectLoop) -> History:
        return History(Scene(loop, seed, course, makers), faults, replay)

    with _tokens(seed), _limits(course):
        return replayed(seed, make, replay, partial(run, make_loop=ObjectLoop))
