"""Offset sync of each region of a world: the product's, in a process with the region's activity."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from replicator.groups.membership.activity import ActivityStore
from replicator.groups.offset_sync.passes import PassFailed
from replicator.groups.offset_sync.region_commits import RegionCommits
from replicator.groups.offset_sync.region_sync import Here, OtherRegion
from replicator.groups.offset_sync.sync import OffsetSync
from replicator.groups.planning.knowledge import GroupProgress
from replicator.kafka.admin.admin_error import AdminError
from replicator.runtime.store_errors import StoreUnreachable
from tests.world.blocking import in_thread
from tests.world.checks.decisions import SyncWatch
from tests.world.checks.wrong import Wrong
from tests.world.groups.clients import TIMEOUT_SECONDS, Clients
from tests.world.groups.two_regions import TwoRegions
from tests.world.halting import Halts
from tests.world.process import Process

PASS_SECONDS = (1.0, 4.0)
TROUBLES = (AdminError, PassFailed, StoreUnreachable)


class WatchedCommits(RegionCommits):
    """Commits in another region, which tell the watch whether it answered."""

    def __init__(self, clients: Clients, watch: SyncWatch) -> None:
        super().__init__(clients.region, clients.groups())
        self._watch = watch

    @override
    def commits(self, *asked: Any) -> GroupProgress | None:
        found = super().commits(*asked)
        self._watch.has_answered = found is not None
        return found


def keep_in_step(
    regions: TwoRegions,
    region: str,
    watch: SyncWatch,
    dice: random.Random,
    halts: Halts,
    rest_share: float,
) -> Process:
    """Starts the offset sync of a region."""
    clients = regions.clients[region]

    def other_region(name: str) -> OtherRegion:
        return OtherRegion(
            name,
            tuple(regions.appliance.routes_into(name)),
            clients.survey(name),
            WatchedCommits(regions.clients[name], watch),
        )

    here = Here(
        region,
        clients.url,
        clients.admin(),
        clients.groups(halts.before(watch.writing)),
        clients.copies(halts.before(watch.asking), watch.passing),
        TIMEOUT_SECONDS,
    )
    sync = OffsetSync(
        regions.appliance,
        region,
        others=other_region,
        here=here,
        timeout_seconds=TIMEOUT_SECONDS,
        rest_share=rest_share,
    )
    stores = {name: ActivityStore(it.url) for name, it in regions.redis.items()}
    main = _keep(sync, here, stores, regions, dice)
    return Process(f"offset sync of {region}").start(main)


async def _keep(
    sync: OffsetSync,
    here: Here,
    stores: Mapping[str, ActivityStore],
    regions: TwoRegions,
    dice: random.Random,
) -> None:
    def once() -> None:
        now_ms = int(time.time() * 1000)
        active = [group for group, is_active in here.groups.members().items() if is_active]
        stores[here.name].publish(here.name, active, now_ms)
        sync.once(now_ms)

    while True:
        await asyncio.sleep(dice.uniform(*PASS_SECONDS))
        try:
            await in_thread(once)
        except TROUBLES:
            continue
        except Wrong as wrong:
            regions.world.loop.fail(wrong)
