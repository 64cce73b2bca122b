"""Members of a cluster's consumer groups, of both protocols: the classic and the newer one."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import ConsumerGroupState, KafkaError

from replicator.kafka.admin.admin_connection import AdminConnection
from replicator.kafka.admin.admin_error import kafka_error

MEMBERLESS = frozenset({ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD})


class GroupMembers(AdminConnection):
    """Consumer groups of one cluster, as its brokers list them."""

    def members(self) -> dict[str, bool]:
        """Returns, by group, True if it has members; a group with commits alone has none."""
        client = self.client()
        answer = client.list_consumer_groups(request_timeout=self.timeout_seconds)
        listed = self.wait(answer, "listing groups")
        for failure in listed.errors:
            error = failure if isinstance(failure, KafkaError) else kafka_error(failure)
            raise self.translated(error, "listing groups")
        # librdkafka reports the newer protocol's states as unknown; groups in these have members.
        return {group.group_id: group.state not in MEMBERLESS for group in listed.valid}

    def active(self, groups: Iterable[str]) -> frozenset[str]:
        """Returns the groups that have members; a group that does not exist has none."""
        wanted = frozenset(groups)
        found = self.members() if wanted else {}
        return frozenset(group for group in wanted if found.get(group))
