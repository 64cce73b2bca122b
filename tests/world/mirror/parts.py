"""Parts of drivers that a mutation replaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from replicator.mirror.driver.planner import Planner
from replicator.orders.order_reader import OrderReader


@dataclass(frozen=True, slots=True)
class Parts:
    """Makers of the parts.

    Args:
        planner: takes the number of carriers where nothing is placed.
        reader: of the orders that a driver follows.
    """

    planner: Callable[[int], Planner] = Planner
    reader: Callable[[], OrderReader] = OrderReader


PARTS = Parts()
