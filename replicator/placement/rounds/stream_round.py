"""Round of one stream of a route: decides from a snapshot which records are to be written."""

from __future__ import annotations

from dataclasses import dataclass, field

from balancer.decision.placement import Placement, Scope
from balancer.decision.round import decide
from balancer.decision.state import RoundState
from replicator.config.balance_settings import BalanceSettings
from replicator.config.topology import Route
from replicator.orders.order_records import Answer, AnyRecord, ByHand, key_of
from replicator.orders.round_status import RoundStatus
from replicator.placement.rounds.placement_record import placement_record
from replicator.placement.rounds.route_snapshot import RouteSnapshot
from replicator.placement.rounds.shares import ShareEstimates, ShareMemory
from replicator.placement.rounds.stream_inputs import StreamInputs, stream_inputs
from replicator.placement.rounds.stream_status import status_of


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a round.

    Args:
        state: round state for the next round, once the records are written.
        records, tombstones: records, and keys to delete; to be written together.
        estimates: shares on which the decision is based.
    """

    status: RoundStatus
    state: RoundState | None = None
    placement: Placement | None = None
    records: tuple[AnyRecord, ...] = ()
    tombstones: tuple[bytes, ...] = ()
    estimates: ShareEstimates = field(default_factory=ShareEstimates)


class StreamRound:
    """Rounds of one stream.

    Args:
        who: name of the balancer in the records that it writes.
    """

    def __init__(self, settings: BalanceSettings, route: Route, stream: str, who: str) -> None:
        self._settings, self._route, self._stream, self._who = settings, route, stream, who
        self._memory = ShareMemory()
        self._state: RoundState | None = None
        self._status: RoundStatus | None = None
        self._answered: set[str] = set()

    def round(self, snapshot: RouteSnapshot, preview: Scope | None = None) -> Outcome:
        """Decides one round. The next round continues from it only after `accept` is called.

        Args:
            preview: scope of a manual plan without an order.
        """
        inputs = stream_inputs(
            snapshot, self._settings, self._route, self._stream, self._memory, self._state
        )
        order = self._open_order(snapshot)
        if inputs.snapshot.degraded and inputs.state is None:
            return self._undecided(inputs, order)
        refused = _refused(order, inputs.generation) if order else None
        manual_scope = preview or (order.scope if order and not refused else None)
        settings = inputs.settings
        decision = decide(inputs.view(manual_scope), settings.limits, settings.rules)
        state, placement = decision.state, decision.placement
        records: list[AnyRecord] = []
        if placement:
            records.append(
                placement_record(
                    state,
                    route=inputs.route,
                    stream=self._stream,
                    first_carrier=inputs.first_carrier,
                    at_ms=snapshot.now_ms,
                    who=self._who,
                    uptime_ms=snapshot.uptime_ms,
                )
            )
        if order:
            moves = len(placement.moves) if placement and not refused else 0
            records.append(self._answer(order, refused, snapshot.now_ms, state.generation, moves))
        return Outcome(
            status_of(inputs, decision, self._status),
            state,
            placement,
            tuple(records),
            (key_of(order),) if order else (),
            inputs.estimates,
        )

    def accept(self, outcome: Outcome) -> None:
        """Continues from an outcome that was written."""
        self._state = outcome.state or self._state
        self._status = outcome.status
        self._answered |= {each.id for each in outcome.records if isinstance(each, Answer)}

    def _open_order(self, snapshot: RouteSnapshot) -> ByHand | None:
        """Returns the manual order that is to be answered."""
        order = snapshot.order_log.by_hand(self._route.key, self._stream, snapshot.now_ms)
        # An order stays in the log until the written answer is read back.
        return None if order and order.id in self._answered else order

    def _undecided(self, inputs: StreamInputs, order: ByHand | None) -> Outcome:
        """Returns the outcome without loads and without a placement.

        Only partition counts are left then, and the driver places by count already.
        """
        snapshot, estimates = inputs.snapshot, inputs.estimates
        status = status_of(inputs, None, self._status)
        if order is None:
            return Outcome(status, estimates=estimates)
        refused = f"loads are not known: {snapshot.degraded}"
        answer = self._answer(order, refused, snapshot.now_ms)
        return Outcome(status, records=(answer,), tombstones=(key_of(order),), estimates=estimates)

    def _answer(
        self, order: ByHand, refused: str | None, now_ms: int, generation: int = 0, moves: int = 0
    ) -> Answer:
        return Answer(
            route=self._route.key,
            stream=self._stream,
            at_ms=now_ms,
            who=self._who,
            id=order.id,
            refused=refused,
            generation=generation,
            moves=moves,
        )


def _refused(order: ByHand, generation: int) -> str | None:
    """Returns why an order cannot be executed upon this generation; None if it can be."""
    if order.generation == generation:
        return None
    return (
        f"the order is for generation {order.generation}, and the placement is generation "
        f"{generation} by now: check the plan again"
    )
