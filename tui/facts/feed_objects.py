"""Objects of a feed, and what the store has otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aggregator.objects.forgotten import Forgotten, Log
from aggregator.objects.told_object import ToldObject
from aggregator.s3.object_listing import Difference


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
