"""Objects of a feed, and what the store has otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from aggregator.objects.told_object import ToldObject
from aggregator.s3.object_listing import Difference


@dataclass(frozen=True, slots=True)
class ObjectListing:
    """Objects of a feed.

    Args:
        differences: between them and the store; None: it was not asked.
    """

    objects: tuple[ToldObject, ...]
    differences: tuple[Difference, ...] | None = None
