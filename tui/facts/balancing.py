"""Balancing of a snapshot: streams with their carriers, moves and orders, as plain values."""

from __future__ import annotations

from dataclasses import dataclass


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
    """Alert of the balancer's last round, with its advice: hot partition, overloaded carrier."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderView:
    """Order of an operator that is in force.

    Args:
        kind: pause, pin, exclude, freeze and so on, as in `sluice balance show`.
        what: the subject, for people, such as "orders-17 on carrier 3".
        undo: words of the `sluice` command that ends the order; empty: it cannot be ended.
        until_ms: None: until it is ended.
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
        held: why only mandatory moves are made.
        degraded: why no load is known.
        is_current: False when the balancer's last round is old, or no balancer acts: what it says
            of loads may have changed since.
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
        lease_who, lease_at_ms: of the balancer that acts or acted last.
        is_acting: None: not known.
        orders: None: not known.
        driver_partitions: number of partitions that the driver carries; None: it shows nothing.
    """

    region: str
    streams: tuple[StreamView, ...] = ()
    orders: tuple[OrderView, ...] | None = None
    lease_who: str | None = None
    lease_at_ms: int | None = None
    is_acting: bool | None = None
    driver_partitions: int | None = None
    problems: tuple[str, ...] = ()
