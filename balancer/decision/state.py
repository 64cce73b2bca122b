"""Round state: the state that a round leaves to the next one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from itertools import groupby
from types import MappingProxyType
from typing import Any

from balancer.decision.freeze import Freeze
from balancer.decision.lag import Lag
from balancer.topic_partition import TopicPartition

VERSION = 1
_Numbers = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Number of wanted carriers.

    Args:
        carriers: number within the limits.
        needed: number without regard to the limits.
        at_least: lower bound for any packing; `needed` exceeds the optimum by the difference at
            most.
        calm: numbers needed in the latest rounds in a row in which fewer carriers would do.
    """

    carriers: int
    needed: int
    at_least: int
    calm: tuple[int, ...] = ()

    @property
    def lacking(self) -> int:
        """Number of carriers that the limits would have to allow in addition."""
        return max(0, self.needed - self.carriers)


@dataclass(frozen=True, slots=True)
class RoundState:
    """State of one route between rounds; times in milliseconds since 1970.

    Args:
        where: carrier of each partition.
        carriers: numbers of the carriers, in order, idle ones included.
        generation: number of the placement; it grows by one with each one that is published.
        moved_at_ms: time of the last placement with voluntary moves or fewer carriers.
        wanted: number of carriers that the last round wanted; None when loads were never known.
        drifting_rounds: number of rounds in a row in which a carrier exceeded the slack.
        lag: partitions that are behind, and the plans for them.
        off_peak_day: last day on whose off-peak window a full plan was examined.
        freeze: state of the freeze.
    """

    where: Mapping[TopicPartition, int] = field(default_factory=lambda: MappingProxyType({}))
    carriers: tuple[int, ...] = ()
    generation: int = 0
    moved_at_ms: int | None = None
    wanted: Wanted | None = None
    drifting_rounds: int = 0
    lag: Lag = field(default_factory=Lag)
    off_peak_day: int | None = None
    freeze: Freeze = field(default_factory=Freeze)

    def shifted(self, by_ms: int) -> RoundState:
        """Returns the same state with all times so much later."""
        return replace(
            self,
            moved_at_ms=None if self.moved_at_ms is None else self.moved_at_ms + by_ms,
            lag=self.lag.shifted(by_ms),
            freeze=self.freeze.shifted(by_ms),
        )

    def to_json(self) -> str:
        """Returns compact JSON, in which the partitions of a topic share its name."""
        wanted = self.wanted
        return json.dumps(
            {
                "version": VERSION,
                "generation": self.generation,
                "carriers": self.carriers,
                "where": _by_topic(self.where),
                "moved_at_ms": self.moved_at_ms,
                "wanted": wanted
                and [wanted.carriers, wanted.needed, wanted.at_least, list(wanted.calm)],
                "drifting_rounds": self.drifting_rounds,
                "behind": _by_topic(self.lag.behind),
                "lag": [self.lag.planned_ms, self.lag.is_full_plan],
                "off_peak_day": self.off_peak_day,
                "freeze": astuple(self.freeze),
            },
            separators=(",", ":"),
        )

    @staticmethod
    def from_json(text: str) -> RoundState:
        """Returns the state that `to_json` wrote.

        Raises ValueError for any other text; it names the version when another version wrote it.
        """
        found: Any = json.loads(text)
        version = found.get("version") if isinstance(found, dict) else None
        if version != VERSION:
            raise ValueError(
                f"a round state of version {version!r}; this Sluice reads version {VERSION}"
            )
        try:
            wanted = found["wanted"]
            return RoundState(
                where=_numbers(found["where"]),
                carriers=tuple(found["carriers"]),
                generation=found["generation"],
                moved_at_ms=found["moved_at_ms"],
                wanted=wanted and Wanted(wanted[0], wanted[1], wanted[2], tuple(wanted[3])),
                drifting_rounds=found["drifting_rounds"],
                lag=Lag(_numbers(found["behind"]), *found["lag"]),
                off_peak_day=found["off_peak_day"],
                freeze=Freeze(*found["freeze"]),
            )
        except (KeyError, IndexError, TypeError) as error:
            raise ValueError(f"no round state: {error!r}") from None


def _by_topic(numbers: _Numbers) -> list[tuple[str, list[int], list[int]]]:
    grouped = groupby(sorted(numbers.items()), key=lambda each: each[0].topic)
    rows = ((topic, list(of_topic)) for topic, of_topic in grouped)
    return [
        (topic, [p.partition for p, _ in row], [number for _, number in row]) for topic, row in rows
    ]


def _numbers(rows: list[tuple[str, list[int], list[int]]]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, partition): number
        for topic, partitions, numbers in rows
        for partition, number in zip(partitions, numbers, strict=True)
    }
