"""Health of the partitions of feeds: one word, worst first, with the reason in words. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tui.facts.health import FINE, Health, Judged, worst

if TYPE_CHECKING:
    from replicator.notices.condition import Condition
    from tui.facts.feed_status import FeedPartitionView, FeedView, UpsertTickView

BEHIND_SECONDS = 60.0
"""Age of the records loaded last above which a partition is behind."""
TICK_SECONDS = 180.0
"""Age of its newest tick above which an upsert table is behind. One at rest has a tick a minute."""
UNKNOWN_LAG = "its lag is not known"
WINDOW_WARN = 0.5
"""Part of a deduplication window from which on a block is worth a look."""


def feed_health(feed: FeedView) -> Judged:
    """Returns the worst state of a feed's partitions and upsert tables, with its first reason."""
    found = [partition_health(each, feed.conditions or ()) for each in feed.partitions]
    found += map(upsert_health, feed.upsert_tables)
    if feed.unknown_clusters:
        text = f"topics of {', '.join(feed.unknown_clusters)} are not known"
        found.append(Judged(Health.UNKNOWN, "; ".join((text, *feed.problems[:1]))))
    state = worst(each.state for each in found)
    if state is None:
        return Judged(Health.UNKNOWN, "no cluster has a topic of it")
    return next(each for each in found if each.state is state)


def upsert_health(table: UpsertTickView) -> Judged:
    """Returns the state of an upsert table, as far as its newest tick tells."""
    if table.frozen is not None:
        return Judged(Health.PAUSED, f"{table.table}: frozen {table.frozen}")
    if table.age_seconds is None:
        what = "no tick is known" if table.tick is None else "it has no tick yet"
        return Judged(Health.UNKNOWN, f"{table.table}: {what}")
    if table.age_seconds > TICK_SECONDS:
        return Judged(
            Health.BEHIND, f"{table.table}: its newest tick is {table.age_seconds:,.0f} s old"
        )
    return FINE


def partition_health(partition: FeedPartitionView, conditions: Iterable[Condition]) -> Judged:
    """Returns the state of one partition.

    Args:
        conditions: of its feed.
    """
    if partition.parked is not None:
        text = partition.parked
        return Judged(Health.PARKED, text if text.startswith("parked") else f"parked: {text}")
    waits = next((each for each in conditions if _concerns(each, partition)), None)
    if waits is not None:
        return Judged(Health.WAITS, f"{waits.kind}: {waits.text}")
    if partition.frozen is not None:
        return Judged(Health.PAUSED, f"frozen {partition.frozen}")
    if partition.mode is None:
        return Judged(Health.UNKNOWN, "no loader has reported it lately")
    if partition.open_objects is not None:
        # Records wait in open objects: only a sealed one that does not become complete is late.
        sealed = partition.intent_age_seconds or 0.0
        if sealed > BEHIND_SECONDS:
            text = f"an object has been sealed for {sealed:,.0f} s, and is not complete"
            return Judged(Health.BEHIND, text)
        is_known = partition.lag_records is not None
        return FINE if is_known else Judged(Health.UNKNOWN, UNKNOWN_LAG)
    # Seconds are those of the records loaded last, so they tell nothing of a source that is quiet.
    if partition.lag_records != 0 and (partition.lag_seconds or 0.0) > BEHIND_SECONDS:
        return Judged(Health.BEHIND, f"{partition.lag_seconds:,.0f} s behind: {reason(partition)}")
    if partition.lag_records is None:
        return Judged(Health.UNKNOWN, UNKNOWN_LAG)
    return FINE


def reason(partition: FeedPartitionView) -> str:
    """Returns what a partition that is behind waits for, as far as its figures tell."""
    if partition.mode == "replay":
        return "the loader repeats the blocks of its predecessor"
    used = partition.window_used
    if used is not None and used >= WINDOW_WARN:
        return f"a block has been on its way for {partition.intent_age_seconds:,.0f} s"
    return "cause not known"


def _concerns(condition: Condition, partition: FeedPartitionView) -> bool:
    """Returns True if a condition keeps a partition from being loaded."""
    wanted = (
        (condition.cluster, partition.cluster),
        (condition.topic, partition.topic),
        (condition.partition, partition.partition),
    )
    return all(named in ("", None, own) for named, own in wanted)
