"""Round of one stream of a route: decides from a snapshot which records are to be written.

In this module a stream's carriers are numbered from 0; in the log and in plans, from the stream's
first carrier.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

from balancer.decision.freeze import MEASURED_PART_MIN
from balancer.decision.placement import Placement, Scope
from balancer.decision.round import Decision, Orders, RoundView, decide
from balancer.decision.state import RoundState
from balancer.demand.demand import measured_part
from balancer.demand.load_model import Factors, LoadModel
from balancer.demand.throughput_file import Throughput
from balancer.demand.window import Rate
from balancer.plan import CarrierId, TopicPartition
from replicator.config.balance_settings import BalanceSettings
from replicator.config.topology import Route
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import (
    CARRIERS_MAX,
    Answer,
    AnyRecord,
    ByHand,
    Placed,
    by_carrier,
    key_of,
)
from replicator.orders.round_status import (
    MOVES_SHOWN_MAX,
    AlertStatus,
    CostStatus,
    MoveStatus,
    RoundStatus,
)
from replicator.placement.rounds.route_settings import OPENED, UNOPENED, settings_of
from replicator.placement.rounds.shares import Known, ShareMemory

REPORT_SECONDS = 15.0
"""A carrier without a report for this long is silent."""
SETTLE_SECONDS = 45.0
"""Time after a new plan in which no carrier counts as silent. An epoch may end and the next one
begin, including takeovers of what the former carriers left."""
IN_RECORD = ("where", "carriers", "generation")


@dataclass(frozen=True, slots=True)
class Scene:
    """Snapshot of what is known of a route at one time.

    Args:
        rates: expected rates of the source's partitions.
        fresh: partitions that were measured lately.
        reports: of this route's carriers.
        degraded: reason why no rate can be believed; None if rates can be.
        measured: cost of batches carried as they are, and of batches that are opened.
        throughput: content of the throughput file for the source's partitions.
    """

    now_ms: int
    book: OrderLog
    in_force: ActivePlan
    rates: Mapping[TopicPartition, Rate] = field(default_factory=dict)
    fresh: Set[TopicPartition] = frozenset()
    reports: Mapping[TopicPartition, PartitionReport] = field(default_factory=dict)
    degraded: str | None = None
    measured: tuple[Factors, Factors] = (UNOPENED, OPENED)
    throughput: Throughput = field(default_factory=Throughput)

    def by_file(self, partitions: Set[TopicPartition]) -> Scene:
        """Returns the snapshot with rates of the throughput file if measured rates cannot be
        believed.

        The file has to cover at least MEASURED_PART_MIN of the partitions. File rates do not count
        as measured: the guard against too few measured partitions still applies.
        """
        if self.degraded is None:
            return self
        told = {each for each in partitions if self.throughput.rate(each)}
        if not told:
            return self
        if measured_part(told, partitions) < MEASURED_PART_MIN:
            few = f"throughput_file tells of {len(told)} of {len(partitions)} partitions"
            return replace(self, degraded=f"{self.degraded}; {few}")
        older = {each: rate for each, rate in self.rates.items() if each not in told}
        return replace(self, rates=older, degraded=None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a round.

    Args:
        records, taken_back: records and deleted keys, to be written together.
        standing: round state for the next round, once they are written.
        known: shares on which the decision is based.
    """

    status: RoundStatus
    standing: RoundState | None = None
    placement: Placement | None = None
    records: tuple[AnyRecord, ...] = ()
    taken_back: tuple[bytes, ...] = ()
    known: Known = field(default_factory=Known)


class StreamRound:
    """Rounds of one stream.

    Args:
        who: writer of the records.
    """

    def __init__(self, settings: BalanceSettings, route: Route, stream: str, who: str) -> None:
        self._settings, self._route, self._stream, self._who = settings, route, stream, who
        self._memory = ShareMemory()
        self._standing: RoundState | None = None
        self._status: RoundStatus | None = None
        self._answered: set[str] = set()

    def round(self, scene: Scene, asked: Scope | None = None) -> Outcome:
        """Decides one round. The next round continues from it only after `written` is called.

        Args:
            asked: scope of a manual plan without an order, for a preview.
        """
        route, now_ms = self._route.key, scene.now_ms
        placed = scene.book.placed(route, self._stream)
        stream = next(
            (each for each in scene.book.streams(route, now_ms) if each.name == self._stream), None
        )
        first = stream.first_carrier if stream else 0
        standing = self._standing or (standing_of(placed, first) if placed else None)
        partitions = self._partitions(scene)
        of = settings_of(
            self._settings,
            self._route,
            stream,
            slots=scene.in_force.slots,
            partitions=len(partitions),
            measured=scene.measured,
        )
        scene = scene.by_file(partitions)
        known = self._memory.known(
            partitions, scene.rates, scene.fresh, scene.reports, of.model, scene.throughput
        )
        order = scene.book.by_hand(route, self._stream, now_ms)
        if order and order.id in self._answered:
            # The answer is written already, and not read back yet.
            order = None
        generation = standing.generation if standing else 0
        if scene.degraded and standing is None:
            # Without loads only the partition counts are left, and the driver places by count
            # already.
            status = self._told(scene, of.model, partitions, known, None, first)
            if order is None:
                return Outcome(status, known=known)
            answer = self._answer(order, f"nothing is known of loads: {scene.degraded}", now_ms)
            return Outcome(status, records=(answer,), taken_back=(key_of(order),), known=known)
        is_stale = order is not None and order.generation != generation
        by_hand = asked or (order.scope if order and not is_stale else None)
        view = self._view(scene, partitions, known, standing, first, by_hand)
        decision = decide(view, of.limits, of.rules)
        status = self._told(scene, of.model, partitions, known, decision, first)
        records: list[AnyRecord] = []
        if decision.placement:
            records.append(self._placed(decision.state, first, now_ms))
        taken_back: tuple[bytes, ...] = ()
        if order:
            refused = (
                f"it was given upon generation {order.generation}, and by now there is "
                f"{generation}: look at the plan again"
            )
            moves = len(decision.placement.moves) if decision.placement and not is_stale else 0
            done = decision.state.generation, moves
            records.append(self._answer(order, refused if is_stale else None, now_ms, *done))
            taken_back = (key_of(order),)
        return Outcome(
            status,
            decision.state,
            decision.placement,
            tuple(records),
            taken_back,
            known,
        )

    def written(self, outcome: Outcome) -> None:
        """Accepts a written outcome: the next round continues from it."""
        self._standing = outcome.standing or self._standing
        self._status = outcome.status
        self._answered |= {each.id for each in outcome.records if isinstance(each, Answer)}

    def _partitions(self, scene: Scene) -> Set[TopicPartition]:
        """Returns the stream's partitions to be carried, as the driver shows them."""
        route = self._route.key
        all_of_it = scene.in_force.partitions(route)
        split = scene.book.split(route, sorted(all_of_it), scene.now_ms)
        return frozenset(split.get(self._stream, ()))

    def _view(
        self,
        scene: Scene,
        partitions: Set[TopicPartition],
        known: Known,
        standing: RoundState | None,
        first: int,
        by_hand: Scope | None,
    ) -> RoundView:
        book, route, now_ms = scene.book, self._route.key, scene.now_ms
        own, busy = range(first, first + CARRIERS_MAX), scene.in_force.busy()
        split = book.split(route, sorted(standing.where) if standing else (), now_ms)
        elsewhere = set(standing.where if standing else ()) - set(split.get(self._stream, ()))
        return RoundView(
            now_ms=now_ms,
            partitions=partitions,
            shares=known.shares,
            measured=known.measured,
            lag_seconds={
                each: report.lag_seconds
                for each, report in scene.reports.items()
                if report.lag_seconds is not None and each in partitions
            },
            state=standing,
            orders=Orders(
                pins={
                    each: carrier - first
                    for each, carrier in book.pins(route, now_ms).items()
                    if each in partitions and carrier in own
                },
                excluded={
                    carrier - first: why
                    for carrier, why in book.excluded(route, now_ms).items()
                    if carrier in own
                },
                paused=book.hold(route, self._stream, now_ms) is not None,
                by_hand=by_hand,
            ),
            slots=scene.in_force.slots,
            carriers_elsewhere=len(busy - self._own(busy, first)),
            silent=self._silent(scene, first),
            degraded=scene.degraded,
            withdrawn=scene.in_force.resting(route) | elsewhere,
            doubts=known.doubts,
            first_carrier=first,
        )

    def _silent(self, scene: Scene, first: int) -> Set[int]:
        """Returns the carriers that have partitions and do not report."""
        now = scene.now_ms / 1000
        if now - scene.in_force.posted_at < SETTLE_SECONDS:
            return frozenset()
        busy = {carrier.number - first for carrier in self._own(scene.in_force.busy(), first)}
        heard = {
            report.carrier - first
            for report in scene.reports.values()
            if now - report.at < REPORT_SECONDS
        }
        return busy - heard

    def _own(self, carriers: Set[CarrierId], first: int) -> Set[CarrierId]:
        """Returns the carriers of this stream."""
        own = range(first, first + CARRIERS_MAX)
        return {it for it in carriers if it.route == self._route.key and it.number in own}

    def _placed(self, standing: RoundState, first: int, now_ms: int) -> Placed:
        where = ((each, first + carrier) for each, carrier in standing.where.items())
        state = json.loads(standing.to_json())
        return Placed(
            route=self._route.key,
            stream=self._stream,
            at_ms=now_ms,
            who=self._who,
            generation=standing.generation,
            carriers=tuple(first + carrier for carrier in standing.carriers),
            topics=by_carrier(where),
            state={name: value for name, value in state.items() if name not in IN_RECORD},
        )

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

    def _told(
        self,
        scene: Scene,
        model: LoadModel,
        partitions: Set[TopicPartition],
        known: Known,
        decision: Decision | None,
        first: int,
    ) -> RoundStatus:
        """Returns the status of a round.

        Without a new placement it has the current loads and the moves of the last placement.
        Carriers have the numbers used in the log and in plans.
        """
        before = self._status
        placement = decision.placement if decision else None
        standing = decision.state if decision else None
        where = standing.where if standing else {}
        numbers = standing.carriers if standing else ()
        loads, counts = dict.fromkeys(numbers, 0.0), dict.fromkeys(numbers, 0)
        for each, carrier in where.items():
            if carrier in loads:
                loads[carrier] += known.shares.get(each, 0.0)
                counts[carrier] += 1
        status = RoundStatus(
            route=self._route.key,
            stream=self._stream,
            at_ms=scene.now_ms,
            generation=standing.generation if standing else 0,
            partitions=len(partitions),
            placed_at_ms=before.placed_at_ms if before else None,
            triggers=before.triggers if before else (),
            moves=before.moves if before else (),
            moves_count=before.moves_count if before else 0,
            loads={first + carrier: load for carrier, load in loads.items()},
            counts={first + carrier: count for carrier, count in counts.items()},
            bound=before.bound if before else None,
            certificate=before.certificate if before else None,
            needed=standing.wanted.needed if standing and standing.wanted else None,
            at_least=standing.wanted.at_least if standing and standing.wanted else None,
            measured_part=len(known.measured) / len(partitions) if partitions else 1.0,
            alerts=tuple(
                AlertStatus(name=it.name.value, text=it.text, evidence=dict(it.evidence))
                for it in (decision.alerts if decision else ())
            ),
            held=decision.held if decision else None,
            degraded=scene.degraded,
            unopened=_cost(model.unopened),
            opened=_cost(model.opened),
        )
        if decision is None or placement is None:
            return status
        return status.model_copy(
            update={
                "placed_at_ms": scene.now_ms,
                "triggers": tuple(it.value for it in decision.triggers),
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
        )


def _cost(factors: Factors) -> CostStatus:
    return CostStatus(per_byte=factors.per_byte, per_record=factors.per_record)


def label(route: Route, stream: str) -> str:
    """Returns the stream's name for people: west>east, or west>east/orders."""
    return route.name if stream == "default" else f"{route.name}/{stream}"


def standing_of(placed: Placed, first: int) -> RoundState | None:
    """Returns the round state that a placement holds, without what another version of Sluice wrote.

    Args:
        first: number of the stream's first carrier.
    """
    where = {each: carrier - first for each, carrier in placed.where.items()}
    own = RoundState(
        where=where,
        carriers=tuple(carrier - first for carrier in placed.carriers),
        generation=placed.generation,
    )
    in_record = json.loads(own.to_json())
    text = json.dumps(in_record | placed.state | {name: in_record[name] for name in IN_RECORD})
    try:
        return RoundState.from_json(text)
    except ValueError:
        # Only cool-down, counters and times of the last round are lost; the placement stays.
        return own
