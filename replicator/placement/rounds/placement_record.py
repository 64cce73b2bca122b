"""Placement record: a round state as the record of sluice.balance, and back.

A round state numbers the carriers of a stream from 0; the record, from the stream's first carrier.
"""

from __future__ import annotations

import json

from balancer.decision.state import RoundState
from replicator.orders.order_records import Placed, by_carrier

FIELDS_OF_RECORD = ("where", "carriers", "generation")
"""Parts of a round state that the record holds in fields of its own."""


def placement_record(
    state: RoundState,
    *,
    route: str,
    stream: str,
    first_carrier: int,
    at_ms: int,
    who: str,
    uptime_ms: int = 0,
) -> Placed:
    """Returns the record of a placement.

    Args:
        state: round state with the placement.
        route: route key.
        at_ms: Unix time in milliseconds.
        who: name of the balancer.
        uptime_ms: of the region's balancers.
    """
    where = ((each, first_carrier + carrier) for each, carrier in state.where.items())
    fields = json.loads(state.to_json())
    return Placed(
        route=route,
        stream=stream,
        at_ms=at_ms,
        who=who,
        generation=state.generation,
        carriers=tuple(first_carrier + carrier for carrier in state.carriers),
        topics=by_carrier(where),
        state={
            **{name: value for name, value in fields.items() if name not in FIELDS_OF_RECORD},
            "uptime_ms": uptime_ms,
        },
    )


def round_state(placed: Placed, first_carrier: int) -> RoundState:
    """Returns the round state of a placement record, without fields of another version of
    Sluice."""
    own = RoundState(
        where={each: carrier - first_carrier for each, carrier in placed.where.items()},
        carriers=tuple(carrier - first_carrier for carrier in placed.carriers),
        generation=placed.generation,
    )
    fields = json.loads(own.to_json())
    of_record = {name: fields[name] for name in FIELDS_OF_RECORD}
    try:
        return RoundState.from_json(json.dumps(fields | placed.state | of_record))
    except ValueError:
        # Only cool-down, counters and times of the last round are lost; the placement stays.
        return own
