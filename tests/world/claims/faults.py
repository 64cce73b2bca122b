"""Faults of daemons that want the same prefix, and operators who release it."""

from __future__ import annotations

from aggregator.objects.prefix_claim import PrefixClaim
from tests.world.claims.claimant import Claimant, owner_of
from tests.world.claims.scene import KEY, ClaimScene
from tests.world.faults.fault import Fault
from tests.world.objects import store_faults
from tests.world.objects.server import COMPLETE, PUT, Armed, RequestFate
from tests.world.objects.store_faults import HEAD
from tests.world.process import Process
from tests.world.sinks.loader_faults import later

GET = "GetObject"
STOP_SECONDS = (0.05, 0.5, 5.0, 20.0)
AWAY_SECONDS = (0.0, 0.3, 3.0)
"""Times after which a daemon that was killed starts again."""
LEFT_OUT = "die within completions"
"""Fault that is not dealt: a success that wrote nothing looks like a condition that is ignored.
Loaders ask HEAD once more then."""


def _start(scene: ClaimScene, who: Claimant, seconds: float) -> None:
    def start() -> None:
        if not scene.is_mended:
            who.start()

    later(scene, seconds, start)


def _kill(scene: ClaimScene, who: Claimant) -> None:
    scene.tell(f"kill {who.name}")
    who.kill()
    _start(scene, who, scene.dice.choice(AWAY_SECONDS))


def _stop(scene: ClaimScene, who: Claimant) -> None:
    seconds = scene.dice.choice(STOP_SECONDS)
    scene.tell(f"stop {who.name} for {seconds} s")
    if process := who.process:
        process.stop()
        later(scene, seconds, process.resume)


async def kill_claimant(scene: ClaimScene) -> None:
    _kill(scene, scene.dice.choice(scene.claimants))


async def stop_claimant(scene: ClaimScene) -> None:
    _stop(scene, scene.dice.choice(scene.claimants))


async def start_all_at_once(scene: ClaimScene) -> None:
    """Starts all daemons anew, so that they claim at the same moment."""
    scene.tell("all daemons start anew")
    for who in scene.claimants:
        who.kill()
        _start(scene, who, scene.dice.choice([0.0, 0.001, 0.01]))


async def strike_at_request(scene: ClaimScene) -> None:
    """Kills or stops a daemon just when one of its requests is acted on."""
    operation = scene.dice.choice([GET, HEAD, PUT, PUT, COMPLETE])
    is_behind = scene.dice.random() < 0.6
    strike = scene.dice.choice([_kill, _stop])

    def struck(_: str, process: Process | None) -> None:
        for who in scene.claimants:
            if process is not None and who.process is process:
                # A turn later: this is a step of the store.
                later(scene, 0.0, strike, scene, who)

    scene.server.armed = Armed(operation, is_behind, struck)


async def refuse_reads(scene: ClaimScene) -> None:
    """Has reads of the claim fail."""
    fates = (
        RequestFate.CUT,
        RequestFate.LOSE_ANSWER,
        RequestFate.BROKEN,
        RequestFate.SLOW_DOWN,
        RequestFate.DENIED,
    )
    store_faults.order(scene, (GET,), fates)


async def release_prefix(scene: ClaimScene) -> None:
    """Ends the daemons of whoever has the prefix, and removes the claim, as docs/s3.md says."""
    found = scene.claim()
    if found is None:
        return
    mine = [it for it in scene.claimants if it.owner == owner_of(found)]
    seconds = scene.dice.choice(AWAY_SECONDS)
    scene.tell(f"the daemons of {found} are ended, and its claim goes {seconds} s later")
    for who in mine:
        who.kill()
    later(scene, seconds, _release, scene, mine, found)


def remove_claim(scene: ClaimScene) -> None:
    """Removes the claim, as an operator does."""
    scene.tell(f"the claim of {scene.claim()} is removed")
    del scene.server.objects[KEY]


def _release(scene: ClaimScene, mine: list[Claimant], found: PrefixClaim) -> None:
    # Another fault may have started one of them.
    if scene.claim() == found and not any(it.is_running for it in mine):
        remove_claim(scene)
    for who in mine:
        _start(scene, who, scene.dice.choice(AWAY_SECONDS))


FAULTS: tuple[Fault[ClaimScene], ...] = (
    Fault("kill a claimant", kill_claimant, 3),
    Fault("stop a claimant", stop_claimant, 2),
    Fault("all start at once", start_all_at_once, 2),
    Fault("strike at a request", strike_at_request, 4),
    Fault("release the prefix", release_prefix, 4, share=1.0),
    Fault("refuse reads", refuse_reads, 2),
    *(it for it in store_faults.FAULTS if it.name != LEFT_OUT),
)
