"""Object inventory: the objects from which a topic can be restored, and who knows of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from aggregator.objects.forgotten import Forgotten
from aggregator.objects.told_object import ToldObject


class Inventory(NamedTuple):
    """Objects of one topic.

    Args:
        passed: offsets below which every record is accounted for, by partition; without one all
            that is in objects counts.
        partitions: of the topic.
        forgotten: objects that the bucket had dropped; the manifests of these are gone.
    """

    objects: Sequence[ToldObject]
    passed: Mapping[int, int]
    partitions: int
    forgotten: Sequence[Forgotten] = ()


class InventorySource(Protocol):
    """Source of the list of a topic's objects."""

    async def prepare(self) -> None:
        """Does what takes the longer the more objects there are."""

    async def open(self) -> None:
        """Connects to its servers. Raises Unreachable."""

    async def close(self) -> None:
        """Ends its connections."""

    @property
    def trouble(self) -> str:
        """Problem of the servers that do not answer at present; empty if there is none."""

    async def take(self) -> Inventory:
        """Returns the objects. Raises AdminError, LogUnreadable, StoreProblem, CannotRestore."""

    async def group_offsets(self, group: str, partitions: int) -> list[tuple[int, int]]:
        """Returns partitions and offsets of the topic that a group has committed."""
