"""What the bench asks of a system under test: start, be killed, stop; and where it writes."""

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
    """Where a mirror reads and writes, and where it may keep files."""

    directory: Path
    source: KafkaCluster
    target: KafkaCluster

    def next_number(self) -> int:
        """Names a mirror apart from all before it."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be mirrored, and what the settings should be best at."""

    topic: str
    aim: Aim
    epoch_seconds: float = 600.0
    """Of Sluice's epochs; its default."""


class Mirror(Protocol):
    """One system at work. It begins from nothing: no offsets, no target topic."""

    target_topic: str

    def start(self) -> None:
        """Starts it, also again after kill(); does not wait."""

    @property
    def process(self) -> Process:
        """The root of the process tree that is measured."""

    def kill(self) -> None:
        """kill -9 of the whole tree."""

    def stop(self) -> None:
        """Ends it in peace, and removes its target topic; also after a failure."""


Factory = Callable[[Ground, Order], Mirror]
