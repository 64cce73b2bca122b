"""Readings of one region's balancing: its order log, what its balancer and its driver publish, and
the view of streams, carriers and orders that follows from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from balancer.decision.settings import CARRIERS_MAX
from replicator.config.topology import Route
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import (
    DEFAULT_STREAM,
    ByHand,
    Exclusion,
    Hold,
    Lease,
    Order,
    Pause,
    Pin,
    Stream,
)
from replicator.orders.round_status import RoundStatus
from tui.facts.balancing import (
    BalanceAlert,
    BalanceView,
    CarrierLoad,
    CarryingCost,
    Cost,
    MoveView,
    OrderView,
    StreamView,
)
from tui.facts.order_words import ending_words, order_text
from tui.facts.streams import limits_of, matching_topics, route_name

LEASE_MS = 30_000
"""Maximum age of the lease of an acting balancer."""
ROUNDS_KEPT = 5
"""Intervals between rounds for which the last round of a balancer counts."""

Hosts = Mapping[tuple[str, int], str]
"""Host of each carrier, by the name of its route and its number."""

KINDS: dict[type[Order], str] = {
    Pin: "pin",
    Exclusion: "exclude",
    Hold: "hold",
    Pause: "pause",
    ByHand: "place",
    Stream: "paused stream",
}


@dataclass(frozen=True, slots=True)
class BalanceReadings:
    """Readings of one region's balancing.

    Args:
        now_ms: time of the readings, in Unix milliseconds.
        order_log: None when it could not be read.
        rounds: the balancer's last round of each stream; None when Redis could not be read.
        active_plan: the driver's; None when no driver publishes one, or it could not be read.
        problems: failed reads, as texts for people.
        is_plan_read: False when reading the driver's plan failed.
    """

    region: str
    routes: tuple[Route, ...]
    now_ms: int
    order_log: OrderLog | None
    rounds: tuple[RoundStatus, ...] | None
    active_plan: ActivePlan | None
    problems: tuple[str, ...] = ()
    is_plan_read: bool = True

    @property
    def is_acting(self) -> bool | None:
        """True when a balancer has the lease; None when the order log could not be read."""
        if self.order_log is None:
            return None
        return is_acting(self.order_log.lease(self.region), self.now_ms)

    def view(
        self, round_seconds: float, *, acts: bool | None, hosts: Hosts | None = None
    ) -> BalanceView:
        """Returns the region's balancing as plain values.

        Args:
            round_seconds: interval between rounds. Redis keeps a round for ever; one that is older
                than ROUNDS_KEPT of these is not current.
            acts: True when a balancer acts, None: not known.
        """
        lease: Lease | None = self.order_log.lease(self.region) if self.order_log else None
        plan, is_asked = self.active_plan, self.rounds is not None and self.is_plan_read
        begin_ms = self.now_ms - int(ROUNDS_KEPT * round_seconds * 1000)
        streams = [
            replace(
                each,
                is_current=acts is not False and (each.at_ms is None or each.at_ms >= begin_ms),
            )
            for each in self._streams(hosts or {})
        ]
        return BalanceView(
            region=self.region,
            streams=tuple(streams),
            orders=None if self.order_log is None else tuple(map(order_view, self._orders())),
            lease_who=lease.who if lease else None,
            lease_since_ms=lease.since_ms if lease else None,
            lease_at_ms=lease.at_ms if lease else None,
            is_acting=acts,
            has_driver=True if plan else False if is_asked else None,
            driver_partitions=plan.plan.partitions if plan else None,
            driver_slots=plan.slots if plan else None,
            problems=self.problems,
        )

    def with_matching(self, streams: Sequence[StreamView]) -> tuple[StreamView, ...]:
        """Returns the streams with the topics that belong to them now, if the plan is known."""
        if self.order_log is None or self.active_plan is None:
            return tuple(streams)
        found = {
            route.name: matching_topics(self.order_log, self.active_plan, route.key, self.now_ms)
            for route in self.routes
        }
        return tuple(
            replace(each, matching=found[each.route].get(each.stream, {})) for each in streams
        )

    def _orders(self) -> Iterator[Order]:
        """Yields the unexpired orders of these routes, then the streams that are paused."""
        if self.order_log is None:
            return
        for route in self.routes:
            found = self.order_log.orders(route.key, self.now_ms)
            yield from (each for each in found if not isinstance(each, Stream))
        for route in self.routes:
            streams = self.order_log.streams(route.key, self.now_ms)
            yield from (each for each in streams if each.is_paused)

    def _streams(self, hosts: Hosts) -> Iterator[StreamView]:
        """Yields the streams in the order of routes, each route's default stream first."""
        for route in self.routes:
            named = self.order_log.streams(route.key, self.now_ms) if self.order_log else []
            known = {each.name: each for each in named}
            in_rounds = {each.stream for each in self.rounds or () if each.route == route.key}
            # Redis may still hold the round of a deleted stream; only the order log can tell.
            names = known if self.order_log else dict.fromkeys(sorted(in_rounds - {DEFAULT_STREAM}))
            for name in (DEFAULT_STREAM, *names):
                view = self._stream(route, name, known.get(name), hosts)
                yield _with_terms(view, known[name]) if name in known else view

    def _stream(self, route: Route, name: str, stream: Stream | None, hosts: Hosts) -> StreamView:
        status = next(
            (it for it in self.rounds or () if (it.route, it.stream) == (route.key, name)), None
        )
        placed = self.order_log.placed(route.key, name) if self.order_log else None
        generation = placed.generation if placed else 0
        loads = status.loads if status else {}
        counts: dict[int, int] | None
        if placed:
            # Counted by topic: a console looks every two seconds, at up to 100 000 partitions.
            counts = dict.fromkeys(placed.carriers, 0) | {
                carrier: sum(len(numbers) for _, numbers in topics)
                for carrier, topics in placed.topics.items()
            }
        elif self.order_log is None and status:
            generation, counts = status.generation, status.counts
        else:
            counts = self._by_driver(route, stream.first_carrier if stream else 0)
        if status is None or status.generation != generation:
            loads = {}
        carriers = None
        if counts is not None:
            carriers = tuple(
                CarrierLoad(
                    number=number,
                    partitions=count,
                    load=loads.get(number),
                    host=hosts.get((route.name, number)),
                )
                for number, count in counts.items()
            )
        plan = self.active_plan
        view = StreamView(
            route=route.name,
            stream=name,
            is_paused=None if self.order_log is None else stream is not None and stream.is_paused,
            generation=None if self.order_log is None and status is None else generation,
            driver_generation=plan.generation(route.key, name) if plan else None,
            partitions=None if counts is None else sum(counts.values()),
            heaviest=_heaviest(carriers or (), status.bound if status else None),
            carriers=carriers,
        )
        return _with_round(view, status) if status else view

    def _by_driver(self, route: Route, first: int) -> dict[int, int] | None:
        """Returns the partition count of each carrier of a stream, from the driver's plan.

        None when the driver publishes no plan.

        Args:
            first: the stream's lowest carrier number.
        """
        if self.active_plan is None:
            return None
        loads = self.active_plan.plan.loads
        return {
            each.number: len(load)
            for each, load in sorted(loads.items())
            if each.route == route.key and first <= each.number < first + CARRIERS_MAX
        }


def is_acting(lease: Lease | None, now_ms: int) -> bool:
    """Returns True when the balancer renewed its lease within the last LEASE_MS."""
    return lease is not None and now_ms - lease.at_ms <= LEASE_MS


def _heaviest(carriers: tuple[CarrierLoad, ...], bound: float | None) -> float | None:
    """Returns the load of the heaviest carrier; None when no load is known.

    A carrier with a single partition and a load above the bound is left out, because nothing can
    be taken from it.
    """
    loads = [
        each.load
        for each in carriers
        if each.load is not None
        and not (bound is not None and each.partitions == 1 and each.load > bound)
    ]
    return max(loads, default=None)


def _with_terms(view: StreamView, stream: Stream) -> StreamView:
    """Returns the view of a named stream with what its operator has set."""
    return replace(
        view,
        topics=stream.topics,
        limits=limits_of(stream),
        first_carrier=stream.first_carrier,
        who=stream.who,
        why=stream.why,
        ordered_at_ms=stream.at_ms,
    )


def _with_round(view: StreamView, status: RoundStatus) -> StreamView:
    """Returns the view with the results of the balancer's last round."""
    cost = None
    if status.unopened is not None and status.opened is not None:
        cost = CarryingCost(
            unopened=Cost(**status.unopened.model_dump()), opened=Cost(**status.opened.model_dump())
        )
    return replace(
        view,
        bound=status.bound,
        certificate=status.certificate,
        needed=status.needed,
        at_least=status.at_least,
        measured_part=status.measured_part,
        cost_seconds=cost,
        at_ms=status.at_ms,
        placed_at_ms=status.placed_at_ms,
        triggers=status.triggers,
        alerts=tuple(BalanceAlert(**each.model_dump()) for each in status.alerts),
        moves=tuple(MoveView(**each.model_dump()) for each in status.moves),
        moves_count=status.moves_count,
        held=status.held,
        degraded=status.degraded,
    )


def order_view(order: Order) -> OrderView:
    """Returns an order about a route as plain values."""
    view = OrderView(
        kind=KINDS.get(type(order), type(order).__name__.lower()),
        route=route_name(order.route),
        stream=None,
        what=order_text(order),
        who=order.who,
        why=order.why,
        at_ms=order.at_ms,
        until_ms=order.until_ms,
        undo=ending_words(order),
    )
    match order:
        case Pin():
            return replace(
                view, topic=order.topic, partition=order.partition, carrier=order.carrier
            )
        case Pause():
            return replace(view, topic=order.topic, partition=order.partition)
        case Exclusion():
            return replace(view, carrier=order.carrier)
        case Hold():
            return replace(view, stream=order.stream)
        case ByHand():
            return replace(
                view,
                stream=order.stream,
                id=order.id,
                scope=order.scope.value,
                generation=order.generation,
            )
        case Stream():
            return replace(view, stream=order.name)
        case _:
            return view
