"""Parts of drivers, balancers and commands that a mutation replaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from replicator.config.topology import Appliance
from replicator.mirror.driver.planner import Planner
from replicator.mirror.repair.rewind import Rewind
from replicator.mirror.topics.topic_sync import TopicSync
from replicator.orders.order_reader import OrderReader
from replicator.placement.rounds.balancer_leadership import BalancerLeadership
from replicator.placement.rounds.rounds import Rounds


@dataclass(frozen=True, slots=True)
class Parts:
    """Makers of the parts.

    Args:
        planner: takes the number of carriers where nothing is placed.
        reader: of the orders that drivers and balancers follow.
        balancer_leadership: takes what BalancerLeadership takes.
        rounds: takes the appliance, the region, and the balancer's name.
        rewind: of operators; takes what Rewind takes.
        topics: of drivers; takes what TopicSync takes.
    """

    planner: Callable[[int], Planner] = Planner
    reader: Callable[[], OrderReader] = OrderReader
    balancer_leadership: Callable[..., BalancerLeadership] = BalancerLeadership
    rounds: Callable[[Appliance, str, str], Rounds] = Rounds
    rewind: Callable[..., Rewind] = Rewind
    topics: Callable[..., TopicSync] = TopicSync


PARTS = Parts()
