"""Progress of one partition of a route: how far its source and its mirror are, and its lag."""

from __future__ import annotations

from typing import NamedTuple

from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.sightings import lag_at_most, stable_ends
from replicator.mirror.offset_map.reports import PartitionReport
from tui.facts.part import REPORT_FRESH_SECONDS
from tui.facts.route_facts import Past, RouteFacts

NO_ENTRY = "no entry"
"""Custody of a partition of which the ledger has nothing."""


class Progress(NamedTuple):
    """Progress of one partition.

    Args:
        report: of its carrier; None when there is no fresh one.
        end: last stable offset of the source when it was last seen.
        mirrored_to: next source offset to mirror.
        lag, lag_seconds: None when there is no fresh word about both ends.
        is_end_fresh: the source's end was seen lately.
    """

    entry: Entry | None
    report: PartitionReport | None
    end: int | None
    mirrored_to: int | None
    lag: int | None
    lag_seconds: float | None
    is_end_fresh: bool


def progress_of(place: TopicPartition, facts: RouteFacts, now: float) -> Progress:
    """Returns the progress of a partition; `now` in Unix seconds."""
    entry = facts.entries.get(place) if facts.entries else None
    end = facts.source_ends.get(place) if facts.source_ends else None
    report = facts.reports.get(place) if facts.reports else None
    if report is not None and now - report.at > REPORT_FRESH_SECONDS:
        report = None
    mirrored_to = next_source_offset(entry, report)
    is_end_fresh = end is not None and facts.silence_of_ends is None
    # A carrier that has not seen its source lately repeats the last end, and knows no seconds.
    if report is not None and report.source_end is not None and report.lag_seconds is not None:
        is_end_fresh, end = True, max(report.source_end, end or 0)
    is_fresh = is_end_fresh and (report is not None or facts.silence_of_entries is None)
    if not is_fresh or end is None or mirrored_to is None:
        return Progress(entry, report, end, mirrored_to, None, None, is_end_fresh)
    lag = max(0, end - mirrored_to)
    seconds = lag_seconds(entry, report, mirrored_to, end, now) if lag else 0.0
    return Progress(entry, report, end, mirrored_to, lag, seconds, is_end_fresh)


def lag_seconds(
    entry: Entry | None,
    report: PartitionReport | None,
    mirrored_to: int,
    end: int,
    now: float,
) -> float | None:
    """Returns the lag that the carrier reports or, without a report, the lag by the ledger entry.

    A report is missing when no carrier has the partition or Redis is unreachable. The lag by the
    ledger entry may be too high by the age of the entry, about a minute (decision 0021).
    """
    if report is not None and report.lag_seconds is not None:
        return report.lag_seconds
    if entry is None:
        return None
    return lag_at_most(stable_ends(entry.seen), mirrored_to, end, round(now * 1000))


def next_source_offset(entry: Entry | None, report: PartitionReport | None) -> int | None:
    """Returns the next source offset to mirror; None when it is not known.

    The entry is the truth but a few seconds old; a fresh report may be further on.
    """
    by_entry = None if entry is None or entry.custody is Custody.VIRGIN else entry.source_offset
    by_report = report.mirrored_to if report is not None else None
    if by_entry is None or by_report is None:
        return by_report if by_entry is None else by_entry
    return max(by_entry, by_report)


def parked_reason(entry: Entry | None, report: PartitionReport | None) -> str | None:
    """Returns the reason why a partition is parked; None when it is not.

    The carrier's report is used when the carrier could no longer write the reason into the entry.
    """
    if entry is not None and entry.parked is not None:
        return str(entry.parked)
    return (report.parked or None) if report is not None else None


def custody_of(
    entry: Entry | None, parked: str | None, is_readable: bool, has_none: bool
) -> str | None:
    """Returns the custody of a partition in words; None when it is not known.

    Args:
        has_none: the ledger was asked, and has no entry.
    """
    if not is_readable:
        return "unreadable"
    if parked is not None:
        return "parked"
    if entry is not None:
        return str(entry.custody)
    return NO_ENTRY if has_none else None


def lag_per_second(place: TopicPartition, lag: int | None, past: Past, now: float) -> float | None:
    """Returns the change of a lag since an earlier one; None when either is not known."""
    before = past.lags.get(place)
    if lag is None or before is None or past.lag_at is None or now <= past.lag_at:
        return None
    return (lag - before) / (now - past.lag_at)


def drain_seconds(lag: int | None, growth: float | None) -> float | None:
    """Returns the time until a lag is gone; None when it does not shrink, or is not known."""
    if lag == 0:
        return 0.0
    if lag is None or growth is None or growth >= 0:
        return None
    return lag / -growth
