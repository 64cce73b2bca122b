"""Mutations of what operators do with objects: sweeps that abort too much (52), and contents that
are overwritten though nobody was shown them (51)."""

from __future__ import annotations

from dataclasses import replace

from aggregator.intents.table_range import Manifest
from aggregator.loader.loader_assembly import MAKERS, Makers
from aggregator.loader.object_forming import ObjectForming
from aggregator.loader.object_partition import ObjectPartition
from aggregator.s3.object_store import ObjectStore
from aggregator.s3.open_object import OpenObject
from aggregator.s3.upload_sweep import Fate, JudgedUpload
from replicator.runtime.run_in_thread import run_in_thread
from tests.world.objects.forgetting import TellsNobody
from tests.world.objects.scene import FORGETS, OVERWRITES, SWEEPS
from tests.world.sinks.mutation import Mutation
from tui.orders.upload_sweeping import UploadSweep


class ReadsNoIntents(UploadSweep):
    """Judges uploads by their age alone."""

    def judged(self) -> list[JudgedUpload]:
        return replace(_plain(self), read_intents=dict).judged()


class ReadsIntentsFirst(UploadSweep):
    """Reads the intents before it lists the uploads."""

    def judged(self) -> list[JudgedUpload]:
        intents = self.read_intents()
        return replace(_plain(self), read_intents=lambda: intents).judged()


class SweepsEverything(UploadSweep):
    """Takes every upload below the prefix for one of the feed."""

    def judged(self) -> list[JudgedUpload]:
        return [
            replace(each, fate=Fate.STALE) if each.fate is Fate.FOREIGN else each
            for each in super().judged()
        ]


def _plain(sweep: UploadSweep) -> UploadSweep:
    return UploadSweep(
        sweep.store, sweep.prefix, sweep.partitions, sweep.read_intents, sweep.begun_before
    )


class OverwritesWhatIsThere(ObjectForming):
    """Writes over what it finds, where an operator let another content be overwritten."""

    async def _complete(
        self, partition: ObjectPartition, name: str, manifest: Manifest, opened: OpenObject
    ) -> None:
        found = await run_in_thread(self.store.head, opened.key) if manifest.over else None
        if found is not None:
            manifest = replace(manifest, over=found.etag)
        await super()._complete(partition, name, manifest, opened)


class Careless(ObjectStore):
    """Store whose requests have no condition where a content may be overwritten."""

    def _condition(self, over: str | None) -> dict[str, str]:
        return {} if over else super()._condition(over)


OF_OVERWRITING = (
    Mutation(51, "any content is overwritten", Makers(object_store=Careless), OVERWRITES),
    Mutation(
        51,
        "what is found is overwritten",
        Makers(object_forming=OverwritesWhatIsThere),
        OVERWRITES,
    ),
)
OF_SWEEPS = tuple(
    Mutation(52, name, MAKERS, replace(SWEEPS, sweep=sweep))
    for name, sweep in (
        ("a sweep reads no intents", ReadsNoIntents),
        ("a sweep reads intents before it lists uploads", ReadsIntentsFirst),
        ("a sweep aborts uploads of others", SweepsEverything),
    )
)
OF_FORGETTING = (
    Mutation(
        63,
        "nobody knows what was forgotten",
        MAKERS,
        replace(FORGETS, forgetting=TellsNobody),
    ),
)
