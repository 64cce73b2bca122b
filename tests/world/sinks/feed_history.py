"""History of a feed, whichever store it has: load, faults, their end, and what is left to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from tests.world.checks.wrong import Wrong
from tests.world.faults.dealer import Dealer, SharedDice, all_of, some_of
from tests.world.faults.fault import Fault
from tests.world.outcome import Outcome
from tests.world.replay import Replay
from tests.world.sinks.feed_scene import FeedScene
from tests.world.sinks.loader_strikes import STRIKES

LOAD_SECONDS = 60.0
"""Bound of virtual time for the load to end once nothing fails any more."""
QUIET_SECONDS = 60.0
"""Bound for the end: virtual time within which something more has to be passed without faults.
Many small objects take their time in a store that shows each a second later."""
DEALT_SHARE = 0.5
"""Share of the kinds of faults that one seed deals."""
S = TypeVar("S", bound=FeedScene[Any])


class FeedHistory(Generic[S]):
    """History of one scene.

    Args:
        faults: all that may be dealt.
    """

    def __init__(self, scene: S, faults: Iterable[Fault[S]], replay: Replay) -> None:
        self.scene = scene
        self.is_loaded = True
        only = scene.course.only
        if only:
            named = {it.name: it for it in (*faults, *STRIKES) if it.name in only}
            if missing := {*only} - named.keys():
                raise KeyError(f"no fault is named {', '.join(sorted(missing))}")
            kinds = all_of(named.values(), scene.dice)
        else:
            kinds = some_of((replace(it, share=DEALT_SHARE) for it in faults), scene.dice)
        self.dealer = Dealer(kinds, SharedDice(replay.dice), replay.left_out)

    async def run(self) -> Outcome:
        scene, loop = self.scene, self.scene.loop
        self.dealer.tell(scene)
        await scene.begin()
        await scene.plan()
        load = [
            asyncio.create_task(sender.keep_sending(lambda: self.is_loaded, 8, 2.0))
            for sender in scene.senders
        ]
        await self.before_faults()
        while loop.time() < scene.course.seconds:
            await self.dealer.deal(scene)
        self.is_loaded = False
        self._mend()
        async with asyncio.timeout(LOAD_SECONDS):
            await asyncio.gather(*load)
        await self._settle()
        await scene.feeding.close()
        records = sum(map(len, scene.checks.source.offsets.values()))
        return Outcome(scene.seed, records, loop.time(), loop.steps, scene.log)

    async def before_faults(self) -> None:
        """Does what a course does before its faults."""

    def mend_store(self) -> None:
        """Ends the faults of the store."""
        raise NotImplementedError

    def differences(self) -> list[str]:
        """Returns a text for each difference between the log and the store."""
        raise NotImplementedError

    async def while_waiting(self) -> None:
        """Does what operators do while the rest is loaded."""

    def _mend(self) -> None:
        scene = self.scene
        scene.tell("all is mended")
        scene.feeding.cluster.mend()
        self.mend_store()
        for loader in scene.feeding.loaders:
            if loader.is_stopped:
                loader.resume()

    async def _settle(self) -> None:
        """Waits until both ends are the same; raises Wrong if they do not become so."""
        scene = self.scene
        await scene.end_faults()
        passed, give_up_at = -1, 0.0
        while differing := self.differences():
            now, before = scene.loop.time(), passed
            passed = sum(found[-1].offset for found in scene.checks.intents.values())
            give_up_at = give_up_at if passed == before else now + QUIET_SECONDS
            if now > give_up_at:
                raise Wrong("; ".join(differing))
            await self.while_waiting()
            await asyncio.sleep(1.0)
