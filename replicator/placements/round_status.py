"""What the balancer's last round of each stream found, for people; nothing depends on it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

MOVES_SHOWN_MAX = 1000


class MoveStatus(BaseModel):
    """A partition that went from one carrier to another in the last placement."""

    model_config = ConfigDict(frozen=True)

    topic: str
    partition: int
    source: int | None
    target: int
    reason: str


class AlertStatus(BaseModel):
    """Something that is the matter."""

    model_config = ConfigDict(frozen=True)

    name: str
    text: str
    evidence: dict[str, float]


class CostStatus(BaseModel):
    """What carrying takes of a carrier's time, in seconds."""

    model_config = ConfigDict(frozen=True)

    per_byte: float
    per_record: float


class RoundStatus(BaseModel):
    """One stream's last round.

    Args:
        at_ms: when it was.
        generation: of the placement that holds.
        placed_at_ms, triggers, moves: of that placement; of very many moves only the first.
        loads: by carrier, what it is predicted to carry, of its time.
        bound: no placement in which hot partitions are alone has its heaviest carrier, but for
            theirs, below this.
        certificate: no sticky plan relieves the carriers with fewer moves; None after a full plan.
        needed: so many carriers the loads ask for; at_least: so many any placement needs.
        measured_part: of the partitions, how many are known by their own traffic.
        held: why only what is forced moves.
        degraded: why nothing is known of loads.
        unopened, opened: what loads were reckoned with, for batches that are carried as they are,
            and for those that have to be opened.
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
