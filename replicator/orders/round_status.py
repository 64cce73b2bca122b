"""Status of the balancer's last round of each stream. For people; no code depends on it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

MOVES_SHOWN_MAX = 1000


class MoveStatus(BaseModel):
    """A partition that changed its carrier in the last placement."""

    model_config = ConfigDict(frozen=True)

    topic: str
    partition: int
    source: int | None
    target: int
    reason: str


class AlertStatus(BaseModel):
    """A problem that the round found."""

    model_config = ConfigDict(frozen=True)

    name: str
    text: str
    evidence: dict[str, float]


class CostStatus(BaseModel):
    """Cost of carrying, in seconds of a carrier's time."""

    model_config = ConfigDict(frozen=True)

    per_byte: float
    per_record: float


class RoundStatus(BaseModel):
    """Last round of one stream.

    Args:
        at_ms: time of the round.
        generation: of the active placement.
        placed_at_ms, triggers, moves: of the active placement; `moves` has at most MOVES_SHOWN_MAX.
        loads: by carrier, its predicted load as a part of its time.
        bound: lower bound of the heaviest load among carriers without a hot partition, in any
            placement that puts nothing beside hot partitions.
        certificate: lower bound of the moves in any sticky plan within the slack; None after a full
            plan.
        needed: number of carriers that the loads ask for.
        at_least: number of carriers below which no placement fits.
        measured_part: fraction of the partitions whose own traffic was measured lately.
        held: reason why only mandatory moves are made; None if any move may be made.
        degraded: reason why no load is known.
        unopened, opened: cost of batches carried as they are, and of batches that have to be
            opened, as used for the loads.
    """

    model_config = ConfigDict(frozen=True)

    route: str
    stream: str
    at_ms: int
    generation: int
    partitions: int
    placed_at_ms: int | None = None
    triggers: tuple[str, ...] = ()
    moves: tuple[MoveStatus, ...] = ()
    moves_count: int = 0
    loads: dict[int, float] = {}
    counts: dict[int, int] = {}
    bound: float | None = None
    certificate: int | None = None
    needed: int | None = None
    at_least: int | None = None
    measured_part: float = 0.0
    alerts: tuple[AlertStatus, ...] = ()
    held: str | None = None
    degraded: str | None = None
    unopened: CostStatus | None = None
    opened: CostStatus | None = None
