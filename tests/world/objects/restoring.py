"""Operators who restore a topic from its objects, by the product's code: their commands are killed,
or stopped while others begin."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aggregator.restore.object_inventory import Inventory
from aggregator.restore.restore import Restore
from aggregator.restore.restore_job import RestoreRequest, RestoreState
from aggregator.restore.restore_plan import CannotRestore
from aggregator.restore.restore_range import RestoreRange
from aggregator.s3.answers import StoreProblem
from aggregator.s3.object_store import ObjectStore, StoreAddress
from balancer.topic_partition import TopicPartition
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Fenced, ProducerStateLost
from tests.world.checks.ends import committed_values
from tests.world.kafka.admin import WorldAdmin
from tests.world.objects.client import WorldS3
from tests.world.objects.object_load import Destination
from tests.world.process import Process
from tests.world.sinks.loaded_feed import CLUSTER
from tests.world.sinks.loader_faults import later

if TYPE_CHECKING:
    from tests.world.objects.scene import Scene

TARGET = "restored"
BATCH_BYTES = 400
"""Largest batch of the target topic, so that a restore takes several transactions."""
RECORDS_MIN = 60
"""Offsets that each partition has passed when the restore begins, unless faults end before."""
PATIENCE_SECONDS = (0.1, 0.3, 1.0)
"""Times after which commands are killed or stopped, at most."""
TROUBLES = (
    AdminError,
    Answered,
    CannotRestore,
    Fenced,
    ProducerStateLost,
    StoreProblem,
    TimeoutError,
    Unreachable,
)


class ToldToChecks:
    """Inventory of the objects that the checks have seen told; as they do, it needs no server."""

    trouble = ""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def prepare(self) -> None:
        """Does nothing."""

    async def open(self) -> None:
        """Does nothing."""

    async def close(self) -> None:
        """Does nothing."""

    async def take(self) -> Inventory:
        checks, places = self._scene.checks, self._scene.places
        assert checks is not None
        passed = {it.partition: checks.intents[it][-1].offset for it in places}
        return Inventory([*checks.told.values()], passed, len(places))

    async def group_offsets(self, group: str, partitions: int) -> list[tuple[int, int]]:
        return []


class Restoring:
    """Restores of one scene's topic, of which one after the other goes on."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._dice = random.Random(f"{scene.seed} restoring")
        self._cluster = scene.feeding.cluster
        self._cluster.create(TARGET, len(scene.places), max_message_bytes=BATCH_BYTES)
        self._done: RestoreState | None = None

    async def keep_restoring(self) -> None:
        """Restores until all is done; commands end badly as long as faults are dealt."""
        scene, dice = self._scene, self._dice
        number = 0
        while self._done is None:
            if not self._is_worth_it():
                await asyncio.sleep(0.5)
                continue
            number += 1
            process = Process(f"restore {number}").start(self._restored(f"restore {number}"))
            assert process.main is not None
            is_disturbed = not scene.is_mended and dice.random() < 0.9
            ends = dice.choice(["killed", "stopped"]) if is_disturbed else "well"
            patience = dice.uniform(0.0, dice.choice(PATIENCE_SECONDS))
            if ends != "well":
                await asyncio.wait({process.main}, timeout=patience)
            if ends == "stopped" and not process.has_ended:
                seconds = dice.choice([0.3, 2.0, 12.0])
                scene.tell(f"stop {process.name} for {seconds} s")
                process.stop()
                later(scene, seconds, process.resume)
            elif ends == "killed" and not process.has_ended:
                scene.tell(f"kill {process.name}")
                process.kill()
            else:
                await asyncio.wait({process.main})
            await asyncio.sleep(dice.choice([0.05, 1.0]) * dice.random())

    def _is_worth_it(self) -> bool:
        checks = self._scene.checks
        assert checks is not None
        passed = [found[-1].offset if found else 0 for found in checks.intents.values()]
        return self._scene.is_mended or min(passed) >= RECORDS_MIN

    async def _restored(self, name: str) -> None:
        scene = self._scene
        restore = Restore(scene.feeding.appliance, self._request(), 5.0, self._makers())
        try:
            await restore.open()
            state = await restore.run(await restore.look(), lambda _: None)
        except TROUBLES as trouble:
            scene.tell(f"{name}: {type(trouble).__name__}: {trouble}")
        except Exception as error:
            scene.loop.fail(error)
        else:
            scene.tell(f"{name}: done")
            self._done = state
        finally:
            await restore.close()

    def _request(self) -> RestoreRequest:
        feed = self._scene.feeding.feed
        assert isinstance(feed, ObjectFeed)
        return RestoreRequest(
            feed=feed,
            source=CLUSTER,
            topic=self._scene.places[0].topic,
            target=CLUSTER,
            target_topic=TARGET,
            wanted=RestoreRange(),
            is_listed=True,
        )

    def _makers(self) -> Any:
        scene = self._scene

        def store(address: StoreAddress) -> ObjectStore:
            return ObjectStore(address, lambda _: WorldS3(scene.server))

        return replace(
            scene.course.restores,
            store=store,
            listed_source=lambda *_: ToldToChecks(scene),
            admin=lambda name, settings, _: WorldAdmin(name, settings, self._cluster),
        )

    def differences(self) -> list[str]:
        """Returns a text for each partition that does not have each record of its range once."""
        if self._done is None:
            return ["the restore is not done"]
        found = []
        for number, entry in self._done.entries.items():
            wanted = self._wanted(number, entry.begin, entry.end)
            seen = committed_values(self._cluster, TopicPartition(TARGET, number))
            if seen != wanted:
                text = f"{len(seen)} restored ({len(set(seen))} values), {len(wanted)} wanted (49)"
                found.append(f"{TARGET}-{number}: {text}")
        return found

    def _wanted(self, number: int, begin: int, end: int) -> Sequence[bytes]:
        checks = self._scene.checks
        assert checks is not None
        place = self._scene.places[number]
        return [
            record.seen[3] or b""
            for _, record in checks.between(place, begin, end)
            if record.fate is Destination.OBJECT
        ]
