"""Settings of one stream: its own, or else those of its route, or else the general ones."""

from __future__ import annotations

from dataclasses import dataclass

from balancer.decision.settings import MOVES_MAX_LEAST, Limits, Rules
from balancer.demand.carrier_memory import partitions_within
from balancer.demand.load_model import Factors, LoadModel
from replicator.config.balance_settings import BalanceSettings, RouteBalance
from replicator.config.topology import Route
from replicator.orders.order_records import CARRIERS_MAX, Stream

MIB = 1 << 20
UNOPENED = Factors(per_byte=0.65e-9, per_record=1e-8)
"""Cost of batches carried as they are, in seconds of a carrier's time. Measured: bench/README.md,
bytes200 and bytes1000."""
OPENED = Factors(per_byte=0.65e-9, per_record=2.2e-6)
"""Cost of batches that have to be opened. Measured with one record in each batch: bench/README.md,
one_record_batches."""


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
    measured: tuple[Factors, Factors] = (UNOPENED, OPENED),
) -> StreamSettings:
    """Returns the settings of a stream.

    Args:
        stream: None for the route's default stream.
        slots: number of Spark task slots, the maximum if carriers_max = 0.
        partitions: number of partitions of the stream.
        measured: cost of batches carried as they are, and of batches that are opened; used if no
            capacity is configured.
    """
    of_route = settings.routes.get(route.name, RouteBalance())

    def one(name: str) -> float | int:
        for table in (stream, of_route):
            if table is not None and (found := getattr(table, name)) is not None:
                assert isinstance(found, float | int)
                return found
        found = getattr(settings, name)
        assert isinstance(found, float | int)
        return found

    carriers_min = int(one("carriers_min"))
    carriers_max = int(one("carriers_max")) or max(slots, carriers_min)
    partitions_max, setting = int(one("partitions_max")), "partitions_max"
    memory = int(one("memory_mib")) * MIB
    if memory and (by_memory := max(1, partitions_within(memory))) < partitions_max:
        partitions_max, setting = by_memory, "memory_mib"
    capacity = one("capacity_mib_per_second") * MIB
    factors = (Factors.of_capacity(capacity),) * 2 if capacity else measured
    return StreamSettings(
        Limits(
            carriers_min=min(carriers_min, carriers_max),
            carriers_max=min(carriers_max, CARRIERS_MAX),
            threshold=float(one("threshold")),
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
            lag_seconds_max=float(one("lag_seconds_max")),
            lag_patience_seconds=settings.lag_patience_seconds,
            off_peak=settings.off_peak,
        ),
        LoadModel(*factors),
    )
