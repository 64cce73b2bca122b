"""Changes of a topic that an admin client can apply: create it, add partitions, alter configs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Create:
    """Action: create the topic on the target."""

    topic: str
    partitions: int
    configs: tuple[tuple[str, str], ...]
    replication_factor: int
    """Replication factor; -1 is the target cluster's own default."""


@dataclass(frozen=True, slots=True, order=True)
class Grow:
    """Action: give the target's topic more partitions."""

    topic: str
    to: int


@dataclass(frozen=True, slots=True, order=True)
class Alter:
    """Action: change these configs of the target's topic, and no others."""

    topic: str
    configs: tuple[tuple[str, str], ...]


Action = Create | Grow | Alter
