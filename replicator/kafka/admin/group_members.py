"""Groups of a cluster of every type, and which of them have members."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from aiokafka.errors import KafkaError

from replicator.kafka.admin.admin_connection import AdminConnection
from replicator.kafka.admin.admin_error import AdminUnreachable, admin_errors
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster, Forbidden
from replicator.kafka.protocol.error_codes import Verdict, verdict
from replicator.kafka.protocol.group_list import ListedGroup, ListGroupsRequest, listed_groups
from replicator.runtime.backoff import Backoff
from replicator.runtime.error_text import error_text
from replicator.runtime.gather import gather_or_cancel

RETRY_SECONDS_MIN, RETRY_SECONDS_MAX = 0.05, 1.0


class GroupMembers(AdminConnection):
    """Groups of one cluster, as its brokers list them."""

    def listed(self) -> dict[str, ListedGroup]:
        """Returns all groups by name: classic and newer consumers, Kafka Streams, share groups.

        Every broker lists the groups that it coordinates, so all of them have to answer.

        Raises AdminError.
        """
        with admin_errors(self.name, "listing groups"):
            return asyncio.run(self._listed())

    def members(self) -> dict[str, bool]:
        """Returns, by group, True if it has members; a group with commits alone has none."""
        return {name: group.has_members for name, group in self.listed().items()}

    def active(self, groups: Iterable[str]) -> frozenset[str]:
        """Returns the groups that have members; a group that does not exist has none."""
        wanted = frozenset(groups)
        found = self.members() if wanted else {}
        return frozenset(group for group in wanted if found.get(group))

    async def _listed(self) -> dict[str, ListedGroup]:
        cluster = Cluster(self.name, self.cluster, client_id="sluice-admin")
        trouble = ""
        try:
            async with asyncio.timeout(self.timeout_seconds):
                await cluster.open()
                backoff = Backoff(RETRY_SECONDS_MIN, RETRY_SECONDS_MAX)
                while True:
                    try:
                        return await _of_brokers(cluster)
                    except (OSError, KafkaError, TimeoutError, KeyError) as error:
                        trouble = error_text(error)
                    await asyncio.sleep(backoff.seconds)
                    backoff.grow()
                    # A broker that has died hands its groups to others.
                    await cluster.try_refresh()
        except TimeoutError:
            why = trouble or "no answer in time"
            raise AdminUnreachable(self.name, f"listing groups: {why}") from None
        finally:
            await cluster.close()


async def _of_brokers(cluster: Cluster) -> dict[str, ListedGroup]:
    """Returns the groups of all brokers.

    Raises KafkaError while a coordinator loads or moves; Answered for any other refusal.
    """
    if not cluster.nodes:
        raise Unreachable(f"{cluster.name}: the metadata names no broker")
    answers = await gather_or_cancel(
        *(cluster.send(node, ListGroupsRequest()) for node in cluster.nodes)
    )
    for code in (answer.error_code for answer in answers):
        if verdict(code) is Verdict.AGAIN:
            raise KafkaError(f"ListGroups: {code}")
        if verdict(code) is Verdict.FORBIDDEN:
            raise Forbidden(f"{cluster.name}: ListGroups", [code])
        if code:
            raise Answered(f"{cluster.name}: ListGroups", [code])
    return {name: group for answer in answers for name, group in listed_groups(answer).items()}
