"""Status of one region's balancing at one moment, from its order log, Redis and driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from replicator.config.topology import Route
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import CARRIERS_MAX, DEFAULT_STREAM, Lease, Order, Stream
from replicator.orders.round_status import RoundStatus

LEASE_MS = 30_000
"""Maximum age of the lease of an acting balancer."""


@dataclass(frozen=True, slots=True)
class CarrierStatus:
    """Status of one carrier of a stream.

    Args:
        partitions: number of partitions on the carrier.
        load: predicted share of the carrier's time; None when not known.
    """

    number: int
    partitions: int
    load: float | None


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """Status of one stream.

    Args:
        is_paused: None when not known.
        generation: generation of the current placement. 0 means that there is none and partitions
            are placed by count; None means not known.
        driver_generation: generation of the placement that the driver follows; 0 when the driver
            places by count, None when not known.
        carriers: None when not known.
        heaviest: load of the heaviest carrier; None when no load is known. A carrier with a single
            partition and a load above the bound is left out, because nothing can be taken from it.
        status: result of the balancer's last round; None when none is known.
    """

    route: Route
    stream: str
    is_paused: bool | None
    generation: int | None
    driver_generation: int | None
    carriers: tuple[CarrierStatus, ...] | None
    heaviest: float | None
    status: RoundStatus | None

    @property
    def partitions(self) -> int | None:
        """Number of partitions on all carriers; None when not known."""
        return None if self.carriers is None else sum(each.partitions for each in self.carriers)


@dataclass(frozen=True, slots=True)
class BalanceStatus:
    """Status of one region's balancing.

    Args:
        now_ms: time of the status, in Unix milliseconds.
        order_log: None when it could not be read.
        rounds: the balancer's last round of each stream; None when Redis could not be read.
        active_plan: the driver's; None when no driver publishes one, or it could not be read.
        problems: failed reads, as texts for people.
    """

    region: str
    routes: tuple[Route, ...]
    now_ms: int
    order_log: OrderLog | None
    rounds: tuple[RoundStatus, ...] | None
    active_plan: ActivePlan | None
    problems: tuple[str, ...] = ()

    @property
    def lease(self) -> Lease | None:
        """Lease of the balancer that acts or acted last; None when no lease is known."""
        return self.order_log.lease(self.region) if self.order_log else None

    def orders(self) -> list[Order]:
        """Returns the unexpired orders of these routes, except streams.

        The result is empty when the order log could not be read.
        """
        if self.order_log is None:
            return []
        found = (self.order_log.orders(route.key, self.now_ms) for route in self.routes)
        return [each for some in found for each in some if not isinstance(each, Stream)]

    def streams(self) -> Iterator[StreamStatus]:
        """Yields the streams in the order of routes, each route's default stream first."""
        for route in self.routes:
            named = self.order_log.streams(route.key, self.now_ms) if self.order_log else []
            known = {each.name: each for each in named}
            in_rounds = {each.stream for each in self.rounds or () if each.route == route.key}
            # Redis may still hold the round of a deleted stream; only the order log can tell.
            names = known if self.order_log else dict.fromkeys(sorted(in_rounds - {DEFAULT_STREAM}))
            for name in (DEFAULT_STREAM, *names):
                yield self._stream(route, name, known.get(name))

    def _stream(self, route: Route, name: str, stream: Stream | None) -> StreamStatus:
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
        carriers = (
            None
            if counts is None
            else tuple(
                CarrierStatus(number, count, loads.get(number)) for number, count in counts.items()
            )
        )
        bound = status.bound if status else None
        return StreamStatus(
            route=route,
            stream=name,
            is_paused=None if self.order_log is None else stream is not None and stream.is_paused,
            generation=None if self.order_log is None and status is None else generation,
            driver_generation=self._driver_generation(route, name),
            carriers=carriers,
            heaviest=_heaviest(carriers or (), bound),
            status=status,
        )

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

    def _driver_generation(self, route: Route, name: str) -> int | None:
        return self.active_plan.generation(route.key, name) if self.active_plan else None


def is_acting(lease: Lease | None, now_ms: int) -> bool:
    """Returns True when the balancer renewed its lease within the last LEASE_MS."""
    return lease is not None and now_ms - lease.at_ms <= LEASE_MS


def _heaviest(carriers: tuple[CarrierStatus, ...], bound: float | None) -> float | None:
    loads = [
        each.load
        for each in carriers
        if each.load is not None
        and not (bound is not None and each.partitions == 1 and each.load > bound)
    ]
    return max(loads, default=None)
