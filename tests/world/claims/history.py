"""History of a prefix by seed: daemons claim it, are killed, and leave it to others.

At the end the daemons of one feed and cluster have it, and all others are told whose it is; once it
is released, some of these begin by themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from replicator.notices.condition import Kind
from tests.world.checks.wrong import Wrong
from tests.world.claims.claimant import PRODUCT, AdmissionParts, Claimant, owner_of
from tests.world.claims.faults import FAULTS, remove_claim
from tests.world.claims.scene import ClaimCourse, ClaimLoop, ClaimScene
from tests.world.faults.dealer import BURSTS, Dealer, OwnDice, some_of
from tests.world.objects.server import LATE_SECONDS
from tests.world.outcome import Outcome
from tests.world.replay import WHOLE, Replay, replayed
from tests.world.sinks.sink_loop import run

LOOK_SECONDS = 0.05
QUIET_SECONDS = 30.0
"""Bound of virtual time within which daemons begin, or know why not, once nothing fails."""


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
            who.start()
            await self._until(partial(self._knows, who), f"{who.name} knows whose it is")
        await self._until(self._is_right, "those of the claim have begun, others know of it")
        await self._hand_over()
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

    async def _hand_over(self) -> None:
        """Ends the daemons of whoever has the prefix, and removes the claim: of those that were
        refused up to now, some begin by themselves."""
        scene = self.scene
        claim = scene.claim()
        assert claim is not None
        for who in scene.claimants:
            if who.owner == owner_of(claim):
                who.kill()
        remove_claim(scene)
        await self._until(lambda: any(it.has_begun for it in scene.claimants), "others begin")
        if scene.keeps_claims:
            await self._until(self._is_right, "one of the others has the prefix")

    async def _until(self, is_so: Callable[[], bool], what: str) -> None:
        """Waits until something is so; raises Wrong if it does not become so."""
        give_up_at = self.scene.loop.time() + QUIET_SECONDS
        while not is_so():
            if self.scene.loop.time() > give_up_at:
                found = [(it.name, it.has_begun, *it.conditions.current) for it in self._running()]
                raise Wrong(f"not so: {what}; the claim is {self.scene.claim()}, daemons: {found}")
            await asyncio.sleep(LOOK_SECONDS)

    def _running(self) -> list[Claimant]:
        return [it for it in self.scene.claimants if it.is_running]

    def _knows(self, who: Claimant) -> bool:
        return who.has_begun or self._is_refused_for_the_claim(who)

    def _is_refused_for_the_claim(self, who: Claimant) -> bool:
        claim = self.scene.claim()
        return claim is not None and str(claim) in who.told(Kind.FEED_REFUSED, who.shared)

    def _is_right(self) -> bool:
        """Returns True if the daemons of the claim have begun, all others know of it, and nobody's
        own feed waits."""
        claim = self.scene.claim()
        if claim is None:
            return False
        return all(
            (who.has_begun, self._is_refused_for_the_claim(who))
            == (who.owner == owner_of(claim), who.owner != owner_of(claim))
            and who.begun(who.own)
            and not who.is_trying
            for who in self._running()
        )


def play(
    seed: int, course: ClaimCourse, parts: AdmissionParts = PRODUCT, replay: Replay = WHOLE
) -> Outcome:
    """Plays the history of a seed; raises Wrong with the history's log."""

    def make(loop: ClaimLoop) -> ClaimHistory:
        return ClaimHistory(ClaimScene(loop, seed, course, parts), replay)

    return replayed(seed, make, replay, partial(run, make_loop=ClaimLoop))
