"""Mutations of the offset maps in Redis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from replicator.mirror.carrier.carrier_assembly import Makers
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.offset_map.redis_writer import RedisWriter
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.runs_topic import RunsKey
from tests.world.mirror.mutations.mutation import Mutation


class Shifted(RedisWriter):
    """Writer that tells Redis the offset behind the one at which a record landed."""

    def append(self, key: RunsKey, segments: Iterable[RunSegment]) -> None:
        super().append(key, map(_shifted, segments))


def _shifted(segment: RunSegment) -> RunSegment:
    runs = (Run(it.source_offset, it.target_offset + 1, it.records) for it in segment.runs)
    return replace(segment, runs=tuple(runs))


class Whole(RedisWriter):
    """Writer that covers offsets whose runs it leaves out."""

    def append(self, key: RunsKey, segments: Iterable[RunSegment]) -> None:
        super().append(key, (replace(it, runs=it.runs[1:]) for it in segments))


def _writing(kind: type[RedisWriter]) -> Makers:
    def make(**parts: Any) -> ProgressCommitter:
        parts["redis_writer"].__class__ = kind
        return ProgressCommitter(**parts)

    return Makers(progress_committer=make)


MUTATIONS = (
    Mutation(14, "Redis is told other offsets", _writing(Shifted)),
    Mutation(14, "Redis is not told of some runs", _writing(Whole)),
)
