"""Mutations of sweeps: each aborts uploads that it must leave (52)."""

from __future__ import annotations

from dataclasses import replace

from aggregator.loader.assembly import MAKERS
from aggregator.s3.upload_sweep import Fate, JudgedUpload
from tests.world.objects.scene import SWEEPS
from tests.world.sinks.mutation import Mutation
from tui.actions.upload_sweeping import UploadSweep


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


MUTATIONS = tuple(
    Mutation(52, name, MAKERS, replace(SWEEPS, sweep=sweep))
    for name, sweep in (
        ("a sweep reads no intents", ReadsNoIntents),
        ("a sweep reads intents before it lists uploads", ReadsIntentsFirst),
        ("a sweep aborts uploads of others", SweepsEverything),
    )
)
