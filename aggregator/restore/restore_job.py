"""Restore job: what is restored and into which topic, and how far it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from aggregator.restore.restore_entry import RestoreEntry
from aggregator.restore.restore_plan import PartitionPlan
from aggregator.restore.restore_range import RestoreRange
from replicator.config.cluster_name import ClusterName
from replicator.config.object_feed import ObjectFeed


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest:
    """Job of a restore.

    Args:
        source, topic: cluster and topic whose records the feed wrote into objects.
        target, target_topic: where the records go.
        is_listed: the objects are those in the bucket; the source cluster is not asked.
        incarnation: of the log whose records are restored; None: each partition has had one log.
    """

    feed: ObjectFeed
    source: ClusterName
    topic: str
    target: ClusterName
    target_topic: str
    wanted: RestoreRange
    is_listed: bool = False
    incarnation: int | None = None

    def takes(self, incarnation: int) -> bool:
        """Returns True if objects of a log are among those to restore."""
        return self.incarnation in (None, incarnation)

    @property
    def job(self) -> str:
        """Hash of what is restored; the entries are those of the target topic."""
        wanted = self.wanted
        offsets = sorted((number, it.begin, it.end) for number, it in wanted.offsets.items())
        where = f"{self.feed.bucket}/{self.feed.prefix_of(self.source)}"
        times = wanted.since_ms, wanted.until_ms
        parts = [self.feed.name, self.source, where, self.topic, offsets, *times]
        if self.incarnation is not None:
            parts.append(self.incarnation)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    @property
    def text(self) -> str:
        """The job for people."""
        wanted = self.wanted
        offsets = ", ".join(
            f"{number}:{it.begin}-{'' if it.end is None else it.end}"
            for number, it in sorted(wanted.offsets.items())
        )
        times = f"{wanted.since_ms}-{wanted.until_ms} ms" if wanted.has_times else ""
        log = "" if self.incarnation is None else f"incarnation {self.incarnation}"
        parts = (f"{self.source} {self.topic} of feed {self.feed.name}", log, offsets, times)
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreState:
    """Job as it stands.

    Args:
        entries: of the target's partitions, by number; those of a job that has not begun are its
            first ones.
        partitions: of source and target topic.
        is_there: the target topic exists.
    """

    plans: tuple[PartitionPlan, ...]
    entries: Mapping[int, RestoreEntry]
    partitions: int
    is_there: bool

    @property
    def is_done(self) -> bool:
        return all(self.entries[plan.partition].is_done for plan in self.plans)
