"""Balancing of a snapshot: streams with their carriers, moves and orders, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class CarrierLoad:
    """Load of one carrier; `load` is a part of its time (1.0: all of it), None: not known."""

    number: int
    partitions: int
    load: float | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveView:
    """Partition that changed its carrier in the last placement."""

    topic: str
    partition: int
    source: int | None
    target: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceAlert:
    """Alert of the balancer's last round, with its advice: hot partition, overloaded carrier.

    Args:
        evidence: numbers that it was found by, such as the load of each hot partition.
    """

    name: str
    text: str
    evidence: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cost of carrying, in seconds of a carrier's time."""

    per_byte: float
    per_record: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryingCost:
    """Costs that loads are worked out with: of batches carried as they are, and of opened ones."""

    unopened: Cost
    opened: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderView:
    """Order of an operator that is in force.

    Args:
        kind: pause, pin, exclude, freeze and so on, as in `sluice balance show`.
        what: the subject, for people, such as "orders-17 on carrier 3".
        undo: words of the `sluice` command that ends the order; empty: it cannot be ended.
        until_ms: None: until it is ended.
        topic, partition, carrier: of a pin, a pause or an exclusion.
        id, scope, generation: of a manual placement.
    """

    kind: str
    route: str
    stream: str | None
    what: str
    who: str
    why: str
    at_ms: int | None = None
    until_ms: int | None = None
    undo: tuple[str, ...] = ()
    topic: str | None = None
    partition: int | None = None
    carrier: int | None = None
    id: str | None = None
    scope: str | None = None
    generation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamView:
    """Stream of a route.

    Args:
        generation: of the placement in force, 0: placed by count, None: not known.
        driver_generation: of the placement that the driver follows.
        heaviest: load of the heaviest carrier without a hot partition.
        bound: lower bound of it in any placement.
        certificate: lower bound of the moves of the last plan; None after a full plan.
        needed: number of carriers that the loads ask for.
        at_least: number of carriers below which no placement fits.
        measured_part: fraction of the partitions whose own traffic was measured lately.
        at_ms: time of the balancer's last round; None: no round is known.
        held: why only mandatory moves are made.
        degraded: why no load is known.
        is_current: False when the balancer's last round is old, or no balancer acts: what it says
            of loads may have changed since.
        topics: patterns of its topics; None: not known, or the default stream, which has those
            that match no other.
        limits: those that the stream sets itself.
        first_carrier: lowest number that its carriers may have.
        who, why, ordered_at_ms: of the operator's last order that made or changed it.
        matching: number of partitions of each topic that belongs to it now; None: not known, or
            not asked for, as in a snapshot.
    """

    route: str
    stream: str
    is_paused: bool | None = None
    generation: int | None = None
    driver_generation: int | None = None
    partitions: int | None = None
    heaviest: float | None = None
    bound: float | None = None
    certificate: int | None = None
    needed: int | None = None
    at_ms: int | None = None
    placed_at_ms: int | None = None
    triggers: tuple[str, ...] = ()
    carriers: tuple[CarrierLoad, ...] | None = None
    alerts: tuple[BalanceAlert, ...] = ()
    moves: tuple[MoveView, ...] = ()
    moves_count: int = 0
    held: str | None = None
    degraded: str | None = None
    is_current: bool = True
    at_least: int | None = None
    measured_part: float | None = None
    cost_seconds: CarryingCost | None = None
    topics: tuple[str, ...] | None = None
    limits: Mapping[str, float | int] = field(default_factory=dict)
    first_carrier: int = 0
    who: str | None = None
    why: str | None = None
    ordered_at_ms: int | None = None
    matching: Mapping[str, int] | None = None

    @property
    def current_alerts(self) -> tuple[BalanceAlert, ...]:
        """Alerts that still hold, as far as is known."""
        return self.alerts if self.is_current else ()

    @property
    def ratio(self) -> float | None:
        """Heaviest load over its lower bound; 1.0 is the best there is."""
        if self.heaviest is None or not self.bound:
            return None
        return self.heaviest / self.bound


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceView:
    """Balancing of one region.

    Args:
        lease_who, lease_since_ms, lease_at_ms: of the balancer that acts or acted last; when it
            became the leader, and when it renewed its lease.
        is_acting: None: not known.
        orders: None: not known.
        driver_partitions, driver_slots: number of partitions that the driver carries, and of its
            task slots; None: it shows nothing.
        has_driver: True when a driver shows its plan; None: not known.
    """

    region: str
    streams: tuple[StreamView, ...] = ()
    orders: tuple[OrderView, ...] | None = None
    lease_who: str | None = None
    lease_at_ms: int | None = None
    is_acting: bool | None = None
    driver_partitions: int | None = None
    problems: tuple[str, ...] = ()
    lease_since_ms: int | None = None
    driver_slots: int | None = None
    has_driver: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamList:
    """Streams of the routes into a region, with the topics that belong to each of them now.

    Their rounds are not asked for: what the balancer has measured is not known.
    """

    region: str
    streams: tuple[StreamView, ...]
    schema_version: int = 2


def reasons(held: str | None, degraded: str | None) -> Iterator[str]:
    """Yields why only mandatory moves are made, and why no load is known; each text once."""
    if held:
        yield f"nothing moves that need not: {held}"
    if degraded and degraded not in (held or ""):
        yield f"loads are not known: {degraded}"
