"""Reasons of a partition's state in words: what it waits for, who paused it, who is silent."""

from __future__ import annotations

import re
import shlex

from balancer.plan import TopicPartition
from replicator.mirror.ledger.entry import Custody
from tui.state.health import Evidence, Health, Judged, lag_health, partition_health
from tui.state.partition_progress import Progress
from tui.state.route_conditions import RouteConditions
from tui.state.route_facts import RouteFacts

BUSY = 0.8
"""Load of a carrier, as a part of its time, from which it may be why its partitions lag."""
NO_REPORT = "no carrier reports on it"
SAID_NOTHING = re.compile(r"(carrier \d+(?: on .+)?) has said nothing for \d+ s")
"""Reason of a partition whose carrier is silent."""


def judged(
    place: TopicPartition,
    progress: Progress,
    parked: str | None,
    facts: RouteFacts,
    conditions: RouteConditions,
    now: float,
) -> Judged:
    """Returns the state of a partition with its reason.

    Args:
        parked: reason why it is parked; None when it is not.
        now: Unix seconds.
    """
    silence = _silence(place, progress, facts, now)
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
                silence,
                lag,
                seconds,
                still_seconds,
                is_reported,
            ),
            facts.lag_seconds_max,
        )
    if found[0] is Health.BEHIND:
        return found[0], f"{found[1]}: {_slowness(place, progress, facts)}"
    return found


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
    silence: str | None,
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


def _silence(
    place: TopicPartition, progress: Progress, facts: RouteFacts, now: float
) -> str | None:
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
        is_virgin = progress.entry is not None and progress.entry.custody is Custody.VIRGIN
        return "not carried yet" if is_virgin else "not carried yet: it has no ledger entry"
    if facts.silence_of_entries is not None:
        return facts.silence_of_entries
    if not progress.lag:
        return None
    # Carriers may go on without Redis, so they are not to blame.
    if facts.silence_of_reports is not None or facts.reports is None:
        return facts.silence_of_reports
    heard = facts.past.heard.get(place) or facts.reports.get(place)
    if heard is None:
        return NO_REPORT
    host = f" on {heard.host}" if heard.host else ""
    return f"carrier {heard.carrier}{host} has said nothing for {now - heard.at:.0f} s"


def silent_carrier(why: str) -> str | None:
    """Returns the carrier that a reason calls silent, "carrier 3 on repl-c"; None: none."""
    found = SAID_NOTHING.fullmatch(why)
    return found[1] if found else None


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
