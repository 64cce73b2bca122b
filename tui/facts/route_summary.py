"""Summary of a route: the views of its partitions, topics and the whole, made of its facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from balancer.topic_partition import TopicPartition
from replicator.mirror.topics.topic_plan import STOPPING, Note, State, TopicPlan, TopicStatus
from tui.facts.health import Health, Judged, summary
from tui.facts.partition_progress import (
    custody_of,
    drain_seconds,
    lag_per_second,
    parked_reason,
    progress_of,
)
from tui.facts.partition_reasons import judged
from tui.facts.route_conditions import RouteConditions, route_conditions
from tui.facts.route_facts import RouteFacts
from tui.facts.route_view import PartitionView, RouteView, TopicView
from tui.facts.totals import largest, total

NOTHING_CARRIED = STOPPING | {State.TO_BE_CREATED}
"""States of topics of which no partition is carried."""


def route_view(facts: RouteFacts, plan: TopicPlan, now: float) -> RouteView:
    """Builds the view of a route; `now` in Unix seconds."""
    topics: list[TopicView] = []
    denied, known = 0, facts.known_partitions()
    conditions = route_conditions(facts.route, facts.conditions, now)
    for status in plan.topics:
        if facts.route not in status.routes:
            continue
        if State.DENIED in status.states:
            denied += 1
            continue
        partitions = [
            partition_view(place, facts, conditions, now) for place in known.get(status.topic, ())
        ]
        topics.append(topic_view(status, partitions, facts, conditions))
    listed = None if facts.route in plan.unknown else topics
    state, why = _route_health(facts, conditions, listed)
    return RouteView(
        route=facts.route.name,
        source=facts.route.source,
        target=facts.route.target,
        topics=None if listed is None else tuple(listed),
        denied_topics=denied,
        problems=facts.problems,
        state=state,
        why=why,
        lag_history=facts.past.lag_history,
        rate_history=facts.past.rate_history,
        **({} if listed is None else _totals(listed)),
    )


def _route_health(
    facts: RouteFacts, conditions: RouteConditions, topics: Sequence[TopicView] | None
) -> Judged:
    if topics is not None:
        parts = [(it.topic, Judged(it.state, it.why)) for it in topics]
        return summary("topic", parts, conditions.whole)
    if conditions.whole:
        return conditions.whole[0]
    why = facts.silence_of_ends or "the source has not listed its topics"
    return Judged(Health.UNKNOWN, why)


def _totals(topics: Sequence[TopicView]) -> dict[str, Any]:
    """Returns the totals of a route; those of a route without any topic are 0."""
    return {
        "lag_records": total(it.lag_records for it in topics) if topics else 0,
        "lag_seconds": largest(it.lag_seconds for it in topics) if topics else 0.0,
        "records_per_second": total(it.records_per_second for it in topics) if topics else 0.0,
        "bytes_per_second": total(it.bytes_per_second for it in topics) if topics else 0.0,
        "lag_per_second": total(it.lag_per_second for it in topics) if topics else 0.0,
        "drain_seconds": largest(it.drain_seconds for it in topics) if topics else 0.0,
        "unknown_partitions": sum(it.unknown_partitions for it in topics),
        "parked_partitions": total(it.parked_partitions for it in topics) if topics else 0,
    }


def topic_view(
    status: TopicStatus,
    partitions: Sequence[PartitionView],
    facts: RouteFacts,
    conditions: RouteConditions,
) -> TopicView:
    """Builds the view of a topic from those of its partitions."""
    notes = status.notes if facts.is_target_known else ()
    state, why = _topic_health(status.topic, notes, partitions, facts, conditions)
    return TopicView(
        topic=status.topic,
        states=tuple(str(note.state) for note in notes),
        notes=tuple(note.text for note in notes if note.text),
        partitions=tuple(partitions),
        state=state,
        why=why,
        **topic_totals(partitions),
    )


def topic_totals(partitions: Sequence[PartitionView]) -> dict[str, Any]:
    """Returns the totals of a topic, by their fields of TopicView."""
    return {
        "lag_records": total(it.lag_records for it in partitions),
        "lag_seconds": largest(it.lag_seconds for it in partitions),
        "open_transaction_seconds": largest(it.open_transaction_seconds for it in partitions),
        "records_per_second": total(it.records_per_second for it in partitions),
        "bytes_per_second": total(it.bytes_per_second for it in partitions),
        "lag_per_second": total(it.lag_per_second for it in partitions),
        "drain_seconds": largest(it.drain_seconds for it in partitions),
        "unknown_partitions": sum(it.lag_records is None for it in partitions),
        "parked_partitions": total(it.parked_count for it in partitions),
    }


def _topic_health(
    topic: str,
    notes: Sequence[Note],
    partitions: Sequence[PartitionView],
    facts: RouteFacts,
    conditions: RouteConditions,
) -> Judged:
    refused = conditions.new_topics.get(topic)
    own: list[Judged] = [Judged(Health.WAITS, refused)] if refused else []
    stopped = [note for note in notes if note.state in NOTHING_CARRIED]
    if stopped:
        name = stopped[0].state.value.replace("_", " ")
        return own[0] if own else Judged(Health.WAITS, f"{name}: {stopped[0].text}")
    if not partitions and not own:
        return Judged(Health.UNKNOWN, facts.silence_of_ends or "no partition of it is known")
    worse = [
        (f"partition {it.partition}", Judged(it.state, it.why))
        for it in partitions
        if it.state is not Health.OK
    ]
    return summary("partition", worse, own)


def partition_view(
    place: TopicPartition, facts: RouteFacts, conditions: RouteConditions, now: float
) -> PartitionView:
    """Builds the view of one partition."""
    progress = progress_of(place, facts, now)
    entry, report, end, mirrored_to, lag, lag_seconds, _ = progress
    unreadable = facts.unreadable.get(place)
    reason = unreadable or parked_reason(entry, report) or conditions.parked.get(place)
    growth = lag_per_second(place, lag, facts.past, now)
    (state, why), silent = judged(place, progress, reason, facts, conditions, now)
    return PartitionView(
        topic=place.topic,
        partition=place.partition,
        source_end=end,
        mirrored_to=mirrored_to,
        lag_records=lag,
        lag_seconds=lag_seconds,
        records_per_second=report.records_per_second if report else None,
        bytes_per_second=report.bytes_per_second if report else None,
        carrier=report.carrier if report else None,
        host=report.host if report else None,
        custody=custody_of(
            entry, reason, is_readable=unreadable is None, has_none=facts.has_no_entry(place)
        ),
        parked=reason,
        source_high=report.source_high if report else None,
        written_lag_records=report.written_lag_records if report else None,
        written_lag_seconds=report.written_lag_seconds if report else None,
        open_transaction_seconds=report.open_transaction_seconds if report else None,
        state=state,
        why=why,
        silent_carrier=silent,
        lag_per_second=growth,
        drain_seconds=drain_seconds(lag, growth),
    )
