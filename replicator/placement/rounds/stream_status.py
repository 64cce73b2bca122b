"""Status of a round of one stream, for people; carriers are numbered as in the log and in plans."""

from __future__ import annotations

from collections import Counter
from typing import Any

from balancer.decision.round import Decision
from balancer.demand.load_model import Factors
from replicator.orders.round_status import (
    MOVES_SHOWN_MAX,
    AlertStatus,
    CostStatus,
    MoveStatus,
    RoundStatus,
)
from replicator.placement.rounds.stream_inputs import StreamInputs

FIELDS_OF_PLACEMENT = ("placed_at_ms", "triggers", "moves", "moves_count", "bound", "certificate")


def status_of(
    inputs: StreamInputs, decision: Decision | None, before: RoundStatus | None
) -> RoundStatus:
    """Returns the status of a round.

    Without a new placement it has the current loads and the moves of the last placement.

    Args:
        decision: None if nothing could be decided.
        before: status of the round before; None if this is the first one.
    """
    snapshot, estimates, model = inputs.snapshot, inputs.estimates, inputs.settings.model
    first = inputs.first_carrier
    state = decision.state if decision else None
    carriers, where = (state.carriers, state.where) if state else ((), {})
    counts = Counter(where.values())
    wanted = state.wanted if state else None
    return RoundStatus(
        route=inputs.route,
        stream=inputs.stream,
        at_ms=snapshot.now_ms,
        generation=state.generation if state else 0,
        partitions=len(inputs.partitions),
        loads={first + each: load for each, load in estimates.loads(carriers, where).items()},
        counts={first + each: counts[each] for each in carriers},
        needed=wanted.needed if wanted else None,
        at_least=wanted.at_least if wanted else None,
        measured_part=(
            len(estimates.measured) / len(inputs.partitions) if inputs.partitions else 1.0
        ),
        alerts=tuple(
            AlertStatus(name=it.name.value, text=it.text, evidence=dict(it.evidence))
            for it in (decision.alerts if decision else ())
        ),
        held=decision.held if decision else None,
        degraded=snapshot.degraded,
        unopened=_cost(model.unopened),
        opened=_cost(model.opened),
        **_placement_fields(inputs, decision, before),
    )


def _placement_fields(
    inputs: StreamInputs, decision: Decision | None, before: RoundStatus | None
) -> dict[str, Any]:
    """Returns the fields of the active placement: the new one, or that of the round before."""
    placement = decision.placement if decision else None
    if decision is None or placement is None:
        return {name: getattr(before, name) for name in FIELDS_OF_PLACEMENT} if before else {}
    first = inputs.first_carrier
    return {
        "placed_at_ms": inputs.snapshot.now_ms,
        "triggers": tuple(each.value for each in decision.triggers),
        "moves": tuple(
            MoveStatus(
                topic=move.partition.topic,
                partition=move.partition.partition,
                source=None if move.source is None else first + move.source,
                target=first + move.target,
                reason=move.reason.value,
            )
            for move in placement.moves[:MOVES_SHOWN_MAX]
        ),
        "moves_count": len(placement.moves),
        "bound": placement.bound,
        "certificate": placement.certificate,
    }


def _cost(factors: Factors) -> CostStatus:
    return CostStatus(per_byte=factors.per_byte, per_record=factors.per_record)
