"""Objects of a feed and its uploads: listed, dropped by the bucket, taken by others, swept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aggregator.intents.table_range import Manifest
from aggregator.loader.reports import FeedPartition
from aggregator.objects.forgotten import Forgotten, Log
from aggregator.objects.told_object import ToldObject
from aggregator.s3.object_listing import Difference
from aggregator.s3.object_store import Found
from aggregator.s3.upload_sweep import JudgedUpload


@dataclass(frozen=True, slots=True)
class ObjectListing:
    """Objects of a feed.

    Args:
        differences: between them and the store; None: it was not asked.
        forgotten: objects that the bucket had dropped, by log.
    """

    objects: tuple[ToldObject, ...]
    differences: tuple[Difference, ...] | None = None
    forgotten: tuple[Forgotten, ...] = ()


@dataclass(frozen=True, slots=True)
class DroppedObjects:
    """Objects of one log that the bucket does not have any more.

    Args:
        begin, end: of their offsets; other objects may lie between.
        first_told_ms, last_told_ms: Unix times.
    """

    log: Log
    objects: int
    records: int
    size_bytes: int
    begin: int
    end: int
    first_told_ms: int
    last_told_ms: int

    @classmethod
    def of(cls, log: Log, objects: Sequence[ToldObject]) -> DroppedObjects:
        """Returns the objects together."""
        times = [each.told_at_ms for each in objects]
        return cls(
            log,
            sum(not each.is_empty for each in objects),
            sum(each.records - each.left_out for each in objects),
            sum(each.size_bytes for each in objects),
            min(each.begin for each in objects),
            max(each.end for each in objects),
            min(times),
            max(times),
        )


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Result of `sluice aggregate forget`.

    Args:
        is_done: they are forgotten; else they are only shown.
    """

    dropped: tuple[DroppedObjects, ...]
    is_done: bool


@dataclass(frozen=True, slots=True)
class TakenObject:
    """Object that keeps its partition parked.

    Args:
        there: content that has its name; None: there is none any more.
    """

    partition: FeedPartition
    key: str
    manifest: Manifest
    there: Found | None


@dataclass(frozen=True, slots=True)
class Overwrites:
    """Result of `sluice aggregate overwrite`.

    Args:
        taken: what there is to overwrite; empty once it was confirmed.
        continued: objects that are written over what has their names.
        left: partitions that are parked as before, with the reasons.
    """

    taken: tuple[TakenObject, ...] = ()
    continued: tuple[TakenObject, ...] = ()
    left: Mapping[FeedPartition, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Result of `sluice aggregate sweep`.

    Args:
        is_dry: those that nothing needs are still there.
    """

    uploads: tuple[JudgedUpload, ...]
    is_dry: bool
