"""Settings of a stream: its own ones override those of its route, and these the general ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from balancer.decision.settings import CARRIERS_MAX, MOVES_MAX_LEAST, Limits, Rules
from balancer.demand.carrier_memory import partitions_within
from balancer.demand.load_model import Factors, LoadModel
from replicator.config.balance_settings import BalanceSettings
from replicator.config.topology import Route
from replicator.orders.order_records import Stream

MIB = 1 << 20
UNOPENED = Factors(per_byte=0.65e-9, per_record=1e-8)
"""Cost of batches carried as they are, in seconds of a carrier's time. Measured: bench/README.md,
bytes200 and bytes1000."""
OPENED = Factors(per_byte=0.65e-9, per_record=2.2e-6)
"""Cost of batches that have to be opened. Measured with one record in each batch: bench/README.md,
one_record_batches."""
COSTS_DEFAULT = LoadModel(UNOPENED, OPENED)
"""Cost of carrying before any was measured."""


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """Settings for the rounds of one stream."""

    limits: Limits
    rules: Rules
    model: LoadModel


def settings_of(
    settings: BalanceSettings,
    route: Route,
    stream: Stream | None,
    *,
    slots: int,
    partitions: int,
    costs: LoadModel = COSTS_DEFAULT,
) -> StreamSettings:
    """Returns the settings of a stream.

    Args:
        stream: None for the route's default stream.
        slots: number of Spark task slots, the maximum if carriers_max = 0.
        partitions: number of partitions of the stream.
        costs: cost of carrying, if no capacity is configured.
    """
    tables = (stream, settings.routes.get(route.name), settings)

    def effective(name: str) -> Any:
        values = (getattr(table, name) for table in tables if table is not None)
        return next(value for value in values if value is not None)

    carriers_min = effective("carriers_min")
    carriers_max = effective("carriers_max") or max(slots, carriers_min)
    partitions_max, setting = effective("partitions_max"), "partitions_max"
    memory = effective("memory_mib") * MIB
    if memory and (by_memory := max(1, partitions_within(memory))) < partitions_max:
        partitions_max, setting = by_memory, "memory_mib"
    capacity = effective("capacity_mib_per_second") * MIB
    by_capacity = Factors.of_capacity(capacity) if capacity else None
    return StreamSettings(
        Limits(
            carriers_min=min(carriers_min, carriers_max),
            carriers_max=min(carriers_max, CARRIERS_MAX),
            threshold=effective("threshold"),
            partitions_max=partitions_max,
            room_setting=setting,
            slack=settings.slack,
            idle=settings.idle,
            calm_rounds=settings.calm_rounds,
        ),
        Rules(
            cool_down_seconds=settings.cool_down_seconds,
            moves_max=settings.moves_max or max(MOVES_MAX_LEAST, partitions // 10),
            patience_rounds=settings.patience_rounds,
            lag_seconds_max=effective("lag_seconds_max"),
            lag_patience_seconds=settings.lag_patience_seconds,
            off_peak=settings.off_peak,
        ),
        LoadModel(by_capacity, by_capacity) if by_capacity else costs,
    )
