"""Interface of a system under test: start, kill, stop, and the topic that it writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from bench.ground import Ground
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import Process

Aim = Literal["throughput", "latency", "kills", "failover"]


class Ends(Protocol):
    """Clusters that a mirror reads and writes, and a directory for its files."""

    directory: Path
    source: KafkaCluster
    target: KafkaCluster

    def next_number(self) -> int:
        """Returns a number that is unique to a mirror."""


@dataclass(frozen=True, slots=True)
class Order:
    """Topic to mirror, and the aim that the settings are chosen for."""

    topic: str
    aim: Aim
    epoch_seconds: float = 600.0
    """Length of Sluice's epochs; its default."""


class Mirror(Protocol):
    """A system under test. It starts from nothing: no offsets, no target topic."""

    target_topic: str

    def start(self) -> None:
        """Starts the system, also again after kill(). Does not wait."""

    @property
    def process(self) -> Process:
        """Root of the process tree that is measured."""

    def kill(self) -> None:
        """Sends kill -9 to the whole tree."""

    def stop(self) -> None:
        """Ends the system gracefully, and removes its target topic; also after a failure."""


Factory = Callable[[Ground, Order], Mirror]
