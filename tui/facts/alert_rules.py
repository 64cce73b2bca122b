"""Alerts of a snapshot: each cause with its acknowledgement, and those that have ended, worst
first.

Most causes have a beginning that daemons have written down. The others, such as a daemon that is
missing, have none but that which a caller has seen who looks again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from replicator.notices.acknowledgement import Acknowledgement
from tui.facts.alert import LEVELS, STATES, Alert, AlertState
from tui.facts.alert_cause import Cause, Source
from tui.facts.carrier_causes import carrier_causes
from tui.facts.condition_causes import condition_causes, parked_causes
from tui.facts.finding_causes import (
    anomaly_causes,
    audit_causes,
    balance_causes,
    copies_causes,
    group_causes,
)
from tui.facts.server_causes import daemon_causes, server_causes
from tui.facts.snapshot import Snapshot

RESOLVED_SECONDS = 3600.0
UNDATED_MS = 8 * 3600 * 1000
"""Time for which an acknowledgement holds when nothing tells whether its alert ended meanwhile."""
FOUND_LATE_MS = 60_000
"""Time by which another caller, whose operator acknowledged, may have seen a beginning earlier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Look at the alerts: what a caller keeps from one snapshot to the next.

    Args:
        alerts: worst first.
        causes: of the alerts that go on, by key.
        unanswered: parts that had no fresh answer; None: nobody has looked yet.
        began_ms, ended_ms: by key, when the caller saw an alert begin, and end.
    """

    alerts: tuple[Alert, ...] = ()
    causes: Mapping[str, Cause] = field(default_factory=dict)
    unanswered: frozenset[Source] | None = None
    began_ms: Mapping[str, int] = field(default_factory=dict)
    ended_ms: Mapping[str, int] = field(default_factory=dict)


NO_LOOK = Look()


def next_look(
    before: Look, snapshot: Snapshot, acknowledgements: Iterable[Acknowledgement], now: float
) -> Look:
    """Returns the next look.

    An alert whose cause is not known any more goes on. One that has ended stays for
    RESOLVED_SECONDS as resolved.

    Args:
        acknowledgements: of all regions.
        now: Unix seconds.
    """
    now_ms, unanswered = int(now * 1000), frozenset(_unanswered(snapshot))
    causes = {cause.key: cause for cause in causes_of(snapshot, now)}
    for key, cause in before.causes.items():
        if key not in causes and _may_go_on(cause, unanswered, snapshot):
            causes[key] = cause
        elif key in causes and causes[key].news_ms is None:
            causes[key] = replace(causes[key], news_ms=cause.news_ms)
    ended = {key: now_ms for key in before.causes if key not in causes}
    seen = {key: at_ms for key, at_ms in before.ended_ms.items() if now_ms - at_ms < UNDATED_MS}
    began = {key: at_ms for key, at_ms in before.began_ms.items() if key in causes}
    began |= {key: now_ms for key in causes if _begins(causes[key], before)}
    look = Look(causes=causes, unanswered=unanswered, began_ms=began, ended_ms={**seen, **ended})
    alerts = (
        *_going_on(look, before, snapshot, acknowledgements, now_ms),
        *_resolved(look, before, now_ms),
    )
    return replace(look, alerts=tuple(sorted(alerts, key=_order)))


def _unanswered(snapshot: Snapshot) -> Iterator[Source]:
    for part in snapshot.parts:
        if part.problem is not None or part.is_stale(snapshot.taken_at):
            yield part.server, part.about


def _may_go_on(cause: Cause, unanswered: frozenset[Source], snapshot: Snapshot) -> bool:
    """Returns True when nothing tells whether a cause that is not told any more has ended."""
    asked = {"audit": snapshot.audits, "group": snapshot.groups, "verify": snapshot.anomalies}
    if cause.kind in asked and asked[cause.kind] is None:
        return True
    # A server that does not answer is its own cause, or another one's.
    return not unanswered.isdisjoint(cause.sources) and unanswered.isdisjoint(cause.own_sources)


def _begins(cause: Cause, before: Look) -> bool:
    """Returns True when the look before would have found the cause, and did not."""
    if cause.key in before.causes or before.unanswered is None:
        return False
    return before.unanswered.isdisjoint((*cause.sources, *cause.own_sources))


def causes_of(snapshot: Snapshot, now: float) -> Iterator[Cause]:
    """Yields everything in a snapshot that an operator should look at."""
    yield from server_causes(snapshot, now)
    yield from daemon_causes(snapshot)
    yield from carrier_causes(snapshot)
    yield from parked_causes(snapshot)
    yield from condition_causes(snapshot)
    yield from balance_causes(snapshot)
    yield from copies_causes(snapshot)
    yield from group_causes(snapshot)
    yield from audit_causes(snapshot)
    yield from anomaly_causes(snapshot, now)


def _going_on(
    look: Look,
    before: Look,
    snapshot: Snapshot,
    acknowledgements: Iterable[Acknowledgement],
    now_ms: int,
) -> Iterator[Alert]:
    given = _newest(each for each in acknowledgements if not each.is_over(now_ms))
    since = {alert.key: alert.since_ms for alert in before.alerts if alert.key in before.causes}
    reachable = [region.region for region in snapshot.regions if region.redis == "ok"]
    for key, cause in look.causes.items():
        since_ms = cause.since_ms if cause.since_ms is not None else since.get(key, now_ms)
        alert = _alert(cause, since_ms, reachable)
        own = given.get(key)
        yield _seen(alert, own) if own and _counts(own, cause, look, now_ms) else alert


def _newest(acknowledgements: Iterable[Acknowledgement]) -> dict[str, Acknowledgement]:
    return {each.key: each for each in sorted(acknowledgements, key=lambda each: each.at_ms)}


def _alert(cause: Cause, since_ms: int, reachable: Sequence[str]) -> Alert:
    # The Redis of a region that is gone keeps nothing; acknowledgements count from any region.
    region = cause.region
    if region not in reachable:
        region = next(iter(reachable), region)
    fields = {**cause.subject(), "region": region}
    return Alert(**fields, state=AlertState.OPEN, since_ms=since_ms)


def _seen(alert: Alert, given: Acknowledgement) -> Alert:
    is_silence = given.until_ms is not None
    return replace(
        alert,
        state=AlertState.SILENCED if is_silence else AlertState.ACKNOWLEDGED,
        who=given.who,
        why=given.why,
        until_ms=given.until_ms,
    )


def _counts(given: Acknowledgement, cause: Cause, look: Look, now_ms: int) -> bool:
    """Returns True if the operator has seen this alert, and not an earlier one of its key."""
    if given.until_ms is not None:
        return True
    if cause.extent is not None and given.extent is not None and cause.extent > given.extent:
        return False
    if cause.news_ms is not None:
        return given.at_ms >= cause.news_ms
    ended_ms, began_ms = look.ended_ms.get(cause.key, 0), look.began_ms.get(cause.key, 0)
    since_ms = max(now_ms - UNDATED_MS, ended_ms, began_ms - FOUND_LATE_MS)
    return given.at_ms >= since_ms


def _resolved(look: Look, before: Look, now_ms: int) -> Iterator[Alert]:
    """Yields the alerts that have ended, for a while."""
    for alert in before.alerts:
        if alert.key in look.causes:
            continue
        if alert.state is not AlertState.RESOLVED:
            yield replace(alert, state=AlertState.RESOLVED, ended_ms=now_ms)
        elif now_ms - (alert.ended_ms or 0) < RESOLVED_SECONDS * 1000:
            yield alert


def _order(alert: Alert) -> tuple[int, int, int, str]:
    return STATES[alert.state], LEVELS[alert.level], alert.since_ms, alert.key
