"""Reasons of a partition's state in words: what it waits for, who paused it, who is silent."""

from __future__ import annotations

import shlex

from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.entry import Custody
from tui.facts.health import Evidence, Health, Judged, lag_health, partition_health
from tui.facts.partition_progress import Progress
from tui.facts.route_conditions import RouteConditions
from tui.facts.route_facts import RouteFacts
from tui.facts.route_view import SilentCarrier

BUSY = 0.8
"""Load of a carrier, as a part of its time, from which it may be why its partitions lag."""
Silence = str | SilentCarrier
"""Reason why there is no fresh word about a partition."""


def judged(
    place: TopicPartition,
    progress: Progress,
    parked: str | None,
    facts: RouteFacts,
    conditions: RouteConditions,
    now: float,
) -> tuple[Judged, SilentCarrier | None]:
    """Returns the state of a partition with its reason, and the carrier whose silence it is.

    Args:
        parked: reason why it is parked; None when it is not.
        now: Unix seconds.
    """
    silence = _silence(place, progress, facts)
    lag, seconds, is_reported = progress.lag, progress.lag_seconds, progress.report is not None
    still_seconds = _still_seconds(place, progress, facts, now)
    if lag is not None and silence is parked is None and conditions.is_empty:
        # So are most of many partitions, in every snapshot.
        found = lag_health(lag, seconds, still_seconds, is_reported, facts.lag_seconds_max)
    else:
        found = partition_health(
            Evidence(
                None if parked is None else _parked(place, parked, facts),
                conditions.paused(place),
                _waits(place, progress, silence, facts, conditions),
                _words(silence, now),
                lag,
                seconds,
                still_seconds,
                is_reported,
            ),
            facts.lag_seconds_max,
        )
    if found.state is Health.BEHIND:
        found = Judged(found.state, f"{found.why}: {_slowness(place, progress, facts)}")
    if found.state is Health.UNKNOWN and isinstance(silence, SilentCarrier):
        return found, silence
    return found, None


def _still_seconds(
    place: TopicPartition, progress: Progress, facts: RouteFacts, now: float
) -> float:
    if not progress.lag:
        return 0.0
    still = facts.past.still.get(place)
    return now - still[1] if still is not None and still[0] == progress.mirrored_to else 0.0


def _parked(place: TopicPartition, reason: str, facts: RouteFacts) -> str:
    if place in facts.unreadable:
        return reason
    words = ["sluice", "accept-loss", "--route", facts.route.name, "--topic", place.topic]
    return f"parked: {reason}; `{shlex.join([*words, '--partition', str(place.partition)])}`"


def _waits(
    place: TopicPartition,
    progress: Progress,
    silence: Silence | None,
    facts: RouteFacts,
    conditions: RouteConditions,
) -> str | None:
    heard = progress.report or facts.past.heard.get(place)
    return conditions.waits(
        place,
        carrier=heard.carrier if heard else None,
        is_known=silence is None and progress.lag is not None,
        is_begun=progress.mirrored_to is not None,
    )


def _silence(place: TopicPartition, progress: Progress, facts: RouteFacts) -> Silence | None:
    """Returns why there is no fresh word about a partition; None when there is.

    A partition that has everything needs no carrier's word.
    """
    if progress.report is not None and progress.is_end_fresh:
        return None
    if not progress.is_end_fresh:
        return facts.silence_of_ends or "the source does not name its end"
    if progress.mirrored_to is None:
        if facts.silence_of_entries is not None:
            return facts.silence_of_entries
        if facts.has_no_entry(place):
            return "not carried yet: it has no ledger entry"
        is_virgin = progress.entry is not None and progress.entry.custody is Custody.VIRGIN
        return "not carried yet" if is_virgin else "its ledger entry has not been read yet"
    if facts.silence_of_entries is not None:
        return facts.silence_of_entries
    if not progress.lag:
        return None
    # Carriers may go on without Redis, so they are not to blame.
    if facts.silence_of_reports is not None or facts.reports is None:
        return facts.silence_of_reports
    heard = facts.past.heard.get(place) or facts.reports.get(place)
    if heard is None:
        return SilentCarrier()
    return SilentCarrier(number=heard.carrier, host=heard.host, pid=heard.pid, heard_at=heard.at)


def _words(silence: Silence | None, now: float) -> str | None:
    if not isinstance(silence, SilentCarrier):
        return silence
    if silence.heard_at is None:
        return "no carrier reports on it"
    return f"{silence.name} has said nothing for {now - silence.heard_at:.0f} s"


def _slowness(place: TopicPartition, progress: Progress, facts: RouteFacts) -> str:
    """Returns why a partition is behind, by the balancer's last round."""
    texts = []
    carrier = progress.report.carrier if progress.report else None
    load = None if carrier is None else facts.loads.carriers.get(carrier)
    if load is not None and load >= BUSY:
        texts.append(f"carrier {carrier} has {load:.2f} of its time")
    if advice := facts.loads.hot.get(f"{place.topic}-{place.partition}"):
        texts.append(advice)
    return "; ".join(texts) or "the cause is not known"
