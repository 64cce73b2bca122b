"""Operator of a cluster: acts on it as people and faults do, for the parts of the contract.

The world has one (`world_operator.py`), and real brokers have one (`tests/live/lab_operator.py`).
"""

from __future__ import annotations

from typing import Protocol


class ClusterOperator(Protocol):
    """Actions on a cluster. Each returns once all brokers that run have noticed.

    Topics have one partition, to which all actions refer.
    """

    async def elect_another(self, topic: str) -> None:
        """Elects another replica that is in sync; the former leader goes on as a follower."""

    async def stop(self, topic: str, node: int) -> None:
        """Kills a broker that follows; returns once it is out of the topic's in-sync set."""

    async def start(self, topic: str, node: int) -> None:
        """Starts a killed broker; returns once it is in the topic's in-sync set again."""

    async def elect_unclean(self, topic: str, node: int) -> None:
        """Kills the leader for the time in which a broker that was stopped comes back and leads.

        What the broker does not have is lost. The former leader follows it in the end.
        """

    async def delete_before(self, topic: str, offset: int) -> None:
        """Deletes the records before an offset (DeleteRecords)."""

    async def compact(self, topic: str) -> None:
        """Compacts all but the last batch. A real cleaner acts on its own, and maybe later."""

    async def throttle(self, batch_bytes: int) -> None:
        """Sets quotas of the client that each batch of this size uses up for a short while."""

    async def end_throttle(self) -> None:
        """Removes the quotas of the client."""
