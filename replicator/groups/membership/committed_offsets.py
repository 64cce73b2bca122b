"""Committed offsets of many consumer groups of one cluster, with few requests.

Every broker is asked about all groups, and answers for those that it coordinates: no coordinator
has to be found first. With 500 groups that is a hundredth of the requests that `Groups.commits`
sends, which are sure to have an answer for every group.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from aiokafka.errors import KafkaError

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_error import admin_errors
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Cluster, Forbidden
from replicator.kafka.protocol.error_codes import Verdict, verdict
from replicator.kafka.protocol.group_offsets import Commits, GroupOffsets, GroupOffsetsRequest
from replicator.runtime.gather import gather_or_cancel

GROUPS_PER_REQUEST = 100
"""Groups of a request: an answer about 100 groups of 64 partitions takes half a MB."""


class CommittedOffsets:
    """Committed offsets of one cluster's groups. Blocking.

    Args:
        name: of the cluster, for people.
    """

    def __init__(self, name: str, cluster: KafkaCluster, timeout_seconds: float = 15.0) -> None:
        self.name = name
        self._cluster = cluster
        self._timeout_seconds = timeout_seconds

    def of(self, groups: Iterable[str]) -> dict[str, Commits]:
        """Returns all that each group has committed.

        Groups without an answer are left out: their coordinator is away, or just moves.

        Raises AdminError when no broker answers, or none of the groups may be read.
        """
        wanted = list(dict.fromkeys(groups))
        if not wanted:
            return {}
        with admin_errors(self.name, "reading commits"):
            return joined(self.name, asyncio.run(self._asked(wanted)))

    async def _asked(self, groups: Sequence[str]) -> list[dict[str, GroupOffsets]]:
        cluster = Cluster(self.name, self._cluster, client_id="sluice-admin")
        async with asyncio.timeout(self._timeout_seconds):
            await cluster.open()
            try:
                asked = (_of_broker(cluster, node, groups) for node in cluster.nodes)
                found = await gather_or_cancel(*asked)
            finally:
                await cluster.close()
        answers = [answer for answer in found if answer is not None]
        if not answers:
            raise Unreachable(f"{self.name}: no broker answers")
        return answers


async def _of_broker(
    cluster: Cluster, node: int, groups: Sequence[str]
) -> dict[str, GroupOffsets] | None:
    """Returns the answer of one broker; None when it gives none."""
    found: dict[str, GroupOffsets] = {}
    try:
        for at in range(0, len(groups), GROUPS_PER_REQUEST):
            request = GroupOffsetsRequest(groups[at : at + GROUPS_PER_REQUEST])
            found |= (await cluster.send(node, request)).groups
    except (OSError, KafkaError, TimeoutError):
        return None
    return found


def joined(name: str, answers: Iterable[dict[str, GroupOffsets]]) -> dict[str, Commits]:
    """Returns the commits of each group that some broker knows.

    Raises Forbidden when no group is known, and a right is missing.
    """
    found: dict[str, Commits] = {}
    refused: set[int] = set()
    for answer in answers:
        for group, offsets in answer.items():
            if not offsets.code:
                found[group] = offsets.commits
            elif verdict(offsets.code) is Verdict.FORBIDDEN:
                refused.add(offsets.code)
    if refused and not found:
        raise Forbidden(f"{name}: OffsetFetch", sorted(refused))
    return found
