"""Taken objects: sealed objects of a feed whose names are taken by other contents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aggregator.intents.table_range import Manifest
from aggregator.loader.reports import FeedPartition
from aggregator.s3.object_store import Found


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
