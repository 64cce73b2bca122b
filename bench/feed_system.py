"""Interface of a system under test that loads a topic into tables: create, start, kill, stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from bench.feed_ground import FeedShard
from bench.feed_load import FeedLoad
from deploy.lab.process import Process

Aim = Literal["throughput", "latency"]
SEAL_SECONDS: dict[Aim, float] = {"throughput": 7.5, "latency": 1.0}
"""Age at which every system inserts what it has read; 7.5 s is the Kafka engine's default."""


@dataclass(frozen=True, slots=True)
class FeedOrder:
    """Topic to load, and the aim that the settings are chosen for."""

    load: FeedLoad
    aim: Aim = "throughput"

    @property
    def seal_seconds(self) -> float:
        return SEAL_SECONDS[self.aim]


class FeedSystem(Protocol):
    """A system under test. It starts from nothing: no offsets, no tables."""

    def start(self) -> None:
        """Starts the system, also again after kill(). Creates its tables at the first start."""

    @property
    def process(self) -> Process | None:
        """Root of the process tree beside the ClickHouse servers; None: there is none."""

    def rows(self) -> int:
        """Returns the number of rows that have arrived."""

    def kill(self) -> None:
        """Sends kill -9 to the whole system, and waits until it is gone."""

    def stop(self) -> None:
        """Ends the system, also after a failure."""


FeedFactory = Callable[[FeedShard, FeedOrder], FeedSystem]
