"""Parts of the contract: each is a dialogue about a topic of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from tests.world.contracts import (
    carrier,
    compaction,
    deletion,
    elections,
    expiry,
    groups,
    quotas,
    reading,
    sequences,
    transactions,
    truncation,
)
from tests.world.contracts.dialogue import Dialogue


@dataclass(frozen=True, slots=True)
class Part:
    """Part of the contract.

    Args:
        play: asks a cluster about a topic that is empty and has one partition.
        brokers: numbers of brokers of the clusters that it is played on.
        replicas: of the topic; all brokers at most.
        config: of the topic, beyond the cluster's defaults.
    """

    play: Callable[[Dialogue], Awaitable[None]]
    brokers: tuple[int, ...] = (1, 3)
    replicas: int = 3
    config: Mapping[str, str] = field(default_factory=dict)


COMPACTED = {"cleanup.policy": "compact", "segment.ms": str(compaction.SEGMENT_MS)}
LOSES = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
PARTS = {
    "carrier": Part(carrier.play),
    "sequences": Part(sequences.play),
    "transactions": Part(transactions.play),
    "reading": Part(reading.play),
    "groups": Part(groups.play),
    "deletion": Part(deletion.play),
    "quotas": Part(quotas.play),
    "compaction": Part(compaction.play, config=COMPACTED),
    "expiry": Part(expiry.play),
    "elections": Part(elections.play, brokers=(3,)),
    "truncation": Part(truncation.play, brokers=(3,), replicas=2, config=LOSES),
}
"""Parts by name."""
