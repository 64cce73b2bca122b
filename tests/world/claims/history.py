"""History of a prefix by seed: daemons claim it, are killed, and leave it to others.

At the end the daemons of one feed and cluster have it, and all others are told whose it is.
"""

from __future__ import annotations

import asyncio
from functools import partial

from tests.world.checks.wrong import Wrong
from tests.world.claims.claimant import PRODUCT, Claimant, Claimants, owner_of
from tests.world.claims.faults import FAULTS
from tests.world.claims.scene import ClaimCourse, ClaimLoop, ClaimScene
from tests.world.faults.dealer import BURSTS, Dealer, OwnDice, some_of
from tests.world.objects.server import LATE_SECONDS
from tests.world.outcome import Outcome
from tests.world.replay import WHOLE, Replay, replayed
from tests.world.sinks.sink_loop import run

LOOK_SECONDS = 0.05
QUIET_SECONDS = 30.0
"""Bound of virtual time within which a daemon is admitted or refused once nothing fails."""


class ClaimHistory:
    """History of one scene."""

    def __init__(self, scene: ClaimScene, replay: Replay) -> None:
        self.scene = scene
        self.dealer = Dealer(
            some_of(FAULTS, scene.dice), OwnDice(scene.seed), replay.left_out, BURSTS
        )

    async def run(self) -> Outcome:
        scene, loop = self.scene, self.scene.loop
        self.dealer.tell(scene)
        for who in scene.claimants:
            who.start()
        looking = loop.in_background(self._look())
        while loop.time() < scene.course.seconds:
            await self.dealer.deal(scene)
        await self._mend()
        for who in scene.claimants:
            await self._begins_or_is_refused(who)
        self._judge()
        looking.cancel()
        for who in scene.claimants:
            who.kill()
        scene.tell(f"{scene.admissions} times a daemon began")
        return Outcome(scene.seed, 0, loop.time(), loop.steps, scene.log)

    async def _look(self) -> None:
        while True:
            self.scene.check()
            await asyncio.sleep(LOOK_SECONDS)

    async def _mend(self) -> None:
        """Ends all faults, and waits until no late request is under way."""
        scene, server = self.scene, self.scene.server
        scene.tell("all is mended")
        scene.is_mended = True
        server.orders, server.armed, server.is_gone, server.slowness = [], None, False, 1.0
        for who in scene.claimants:
            who.kill()
        await asyncio.sleep(max(LATE_SECONDS))

    async def _begins_or_is_refused(self, who: Claimant) -> None:
        """Starts a daemon, and waits until it knows whether it may begin."""
        who.start()
        give_up_at = self.scene.loop.time() + QUIET_SECONDS
        while not (who.has_begun or self._is_told_to(who)):
            if self.scene.loop.time() > give_up_at:
                raise Wrong(f"{who.name} neither begins nor is refused")
            await asyncio.sleep(LOOK_SECONDS)

    def _is_told_to(self, who: Claimant) -> bool:
        """Returns True if a daemon is refused for the claim that is there."""
        claim = self.scene.claim()
        return claim is not None and str(claim) in who.refusal

    def _judge(self) -> None:
        """Raises Wrong unless the daemons of the claim have begun, and the others know of it."""
        claim = self.scene.claim()
        for who in self.scene.claimants:
            is_owner = claim is not None and who.owner == owner_of(claim)
            if who.has_begun != is_owner or self._is_told_to(who) == is_owner:
                raise Wrong(f"the claim is {claim}, and {who.name}: {who.refusal or 'has begun'}")


def play(
    seed: int, course: ClaimCourse, claimants: Claimants = PRODUCT, replay: Replay = WHOLE
) -> Outcome:
    """Plays the history of a seed; raises Wrong with the history's log."""

    def make(loop: ClaimLoop) -> ClaimHistory:
        return ClaimHistory(ClaimScene(loop, seed, course, claimants), replay)

    return replayed(seed, make, replay, partial(run, make_loop=ClaimLoop))
