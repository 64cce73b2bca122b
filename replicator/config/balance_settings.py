"""Settings of the [balance] table and of its tables by route: how partitions are placed."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from balancer.decision.settings import CARRIERS_MAX, DailyWindow, Limits, Rules
from replicator.config.clickhouse_address import ClickHouseAddress
from replicator.config.mistakes import raise_if_any
from replicator.config.security import ReadableFile, SecretFile
from replicator.config.settings import Float, Int, MetricsPort, OwnedPath, Table

MEMORY_MIB_MIN = 768
"""Least memory of a carrier in MiB, however few partitions it has (carrier_memory.py)."""
LIMITS, RULES = Limits(), Rules()
"""Settings of rounds that the [balance] table has too; the table takes their defaults."""


def daily_window(text: str) -> str:
    """Returns a window such as "02:00-04:30", or ""; raises ValueError for anything else."""
    if text:
        DailyWindow.parsed(text)
    return text


def memory_of_a_carrier(mib: int) -> int:
    """Returns the MiB if they are 0 or enough for a carrier; raises ValueError otherwise."""
    if 0 < mib < MEMORY_MIB_MIN:
        raise ValueError(f"a carrier takes up to {MEMORY_MIB_MIN} MiB: give as much, or 0")
    return mib


def clickhouse_address(value: Any) -> Any:
    if isinstance(value, ClickHouseAddress):
        return value
    return ClickHouseAddress.parse(value if isinstance(value, str) else "")


Capacity = Annotated[Float, Field(ge=0, le=1_000_000)]
Threshold = Annotated[Float, Field(ge=0.05, le=1)]
Carriers = Annotated[Int, Field(ge=1, le=CARRIERS_MAX)]
CarriersMax = Annotated[Int, Field(ge=0, le=CARRIERS_MAX)]
PartitionsMax = Annotated[Int, Field(ge=1, le=1_000_000)]
MemoryMib = Annotated[Int, Field(ge=0, le=1 << 20), AfterValidator(memory_of_a_carrier)]
LagSeconds = Annotated[Float, Field(ge=0.1, le=86400)]
ClickHouse = Annotated[ClickHouseAddress, BeforeValidator(clickhouse_address)]


class RouteBalance(Table):
    """Settings of a [balance.routes."west>east"] table, instead of those of [balance]."""

    capacity_mib_per_second: Capacity | None = None
    threshold: Threshold | None = None
    carriers_min: Carriers | None = None
    carriers_max: CarriersMax | None = None
    partitions_max: PartitionsMax | None = None
    memory_mib: MemoryMib | None = None
    lag_seconds_max: LagSeconds | None = None


class BalanceSettings(Table):
    """Settings of the [balance] table: how `sluice balance` works, and what it aims at."""

    capacity_mib_per_second: Capacity = 0.0
    """Compressed MiB/s that one carrier moves; 0 = by the measured cost of bytes and records."""
    threshold: Threshold = LIMITS.threshold
    """Part of a carrier's capacity that is planned; the rest is for bursts."""
    carriers_min: Carriers = LIMITS.carriers_min
    """Fewest carriers of each stream of a route."""
    carriers_max: CarriersMax = 0
    """Most carriers of each stream of a route; 0 = Spark's task slots."""
    partitions_max: PartitionsMax = LIMITS.partitions_max
    """Most partitions of each carrier."""
    memory_mib: MemoryMib = 0
    """Memory of each carrier in MiB, which caps its number of partitions; 0 = no cap."""
    slack: Annotated[Float, Field(ge=0, le=1)] = LIMITS.slack
    """Part by which the heaviest carrier may exceed the least possible before partitions move."""
    idle: Annotated[Float, Field(ge=0, le=1)] = LIMITS.idle
    """Load of carriers, as a part of their capacity, up to which nothing moves for balance."""
    sample_seconds: Annotated[Float, Field(ge=0.5, le=300)] = 15.0
    """Interval at which the growth of the sources' logs is sampled."""
    round_seconds: Annotated[Float, Field(ge=0.5, le=3600)] = 60.0
    """Interval of the rounds that decide whether something should move."""
    calm_rounds: Annotated[Int, Field(ge=0, le=1000)] = LIMITS.calm_rounds
    """Rounds in a row that need fewer carriers before there are fewer."""
    patience_rounds: Annotated[Int, Field(ge=1, le=1000)] = RULES.patience_rounds
    """Rounds in a row above the slack before partitions move."""
    fresh_seconds: Annotated[Float, Field(ge=1, le=86400)] = 900.0
    """Age of its last sample above which a partition's traffic does not count as measured."""
    throughput_file: OwnedPath | None = None
    """File with the throughput of partitions that were never sampled, in Brooklin's format."""
    held_seconds: Annotated[Float, Field(ge=1, le=604800)] = 7200.0
    """Time without any sample after which partitions are placed by throughput_file, or by count."""
    history: Literal["redis", "clickhouse"] = "redis"
    """Store that keeps the samples over restarts."""
    history_clickhouse: ClickHouse | None = None
    history_clickhouse_password_file: SecretFile | None = None
    history_clickhouse_ca_file: ReadableFile | None = None
    """PEM certificates that sign a clickhouses:// server's own."""
    history_clickhouse_days: Annotated[Int, Field(ge=2, le=3650)] = 30
    """Days of samples that ClickHouse keeps; Redis keeps one."""
    cool_down_seconds: Annotated[Float, Field(ge=0, le=86400)] = RULES.cool_down_seconds
    """Time between two rounds that move partitions which could have stayed."""
    moves_max: Annotated[Int, Field(ge=0, le=1_000_000)] = 0
    """Most such moves in one round of a stream; 0 = a tenth of its partitions, and 100 at least."""
    lag_seconds_max: LagSeconds = RULES.lag_seconds_max
    """Lag of a partition above which partitions are moved ..."""
    lag_patience_seconds: Annotated[Float, Field(ge=0, le=86400)] = RULES.lag_patience_seconds
    """... once the lag has lasted this long."""
    off_peak: Annotated[str, AfterValidator(daily_window)] = RULES.off_peak
    """Daily window, in UTC, in which all may be placed anew: "02:00-04:30"; empty = none."""
    metrics_port: MetricsPort = 0
    """Metrics port of `sluice balance`, at metrics.address; 0 = off."""
    routes: dict[str, RouteBalance] = Field(default_factory=dict)
    """Settings by route, which replace those above."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        raise_if_any(self._contradictions())
        return self

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        if self.fresh_seconds < 2 * self.sample_seconds:
            least = 2 * self.sample_seconds
            yield "fresh_seconds", f"must be twice sample_seconds or more ({least:g})"
        yield from self._contradictions_of_history()
        nothing_else = RouteBalance()
        for name, own in {"": nothing_else, **self.routes}.items():
            least = own.carriers_min or self.carriers_min
            most = self.carriers_max if own.carriers_max is None else own.carriers_max
            is_general = bool(name) and own.carriers_min is own.carriers_max is None
            if is_general or not 0 < most < least:
                continue
            if name and own.carriers_max is None:
                yield (
                    f"routes.{name}.carriers_min",
                    f"must be balance.carriers_max ({most}) or less",
                )
            else:
                where = f"routes.{name}.carriers_max" if name else "carriers_max"
                yield where, f"must be carriers_min ({least}) or more, or 0"

    def _contradictions_of_history(self) -> Iterator[tuple[str, str]]:
        address = self.history_clickhouse
        if self.history == "clickhouse" and not address:
            yield "history_clickhouse", f"is missing; history {self.history!r} needs it"
        if self.history != "clickhouse":
            for key in sorted(self.model_fields_set):
                if key.startswith("history_clickhouse"):
                    text = f"has no meaning with history {self.history!r}; use clickhouse, "
                    yield key, text + "or remove it"
        if address and not address.is_tls and self.history_clickhouse_ca_file:
            text = "has no meaning with clickhouse://; use clickhouses://, or remove it"
            yield "history_clickhouse_ca_file", text
