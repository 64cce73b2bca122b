"""Facts about one route with one partition, for tests of its state."""

from __future__ import annotations

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.mirror.topics.topic_plan import Note, State, TopicPlan, TopicStatus
from replicator.notices.condition import Condition
from tests.replicator.mirror.ledger.held import held
from tui.facts.route_conditions import RouteConditions
from tui.facts.route_facts import RouteFacts

ROUTE = Route("west", "east")
NOW = 1000.0
PARTITION = TopicPartition("orders", 0)
ENTRY = held(source_offset=70, target_offset=70)
LOSS = Loss(LossKind.RETENTION_PASSED, 70, 80)
REPORT = PartitionReport("west>east", "orders", 0, 5, 20.0, 2000.0, 95, 90, 5, 0.25, None, NOW - 1)
FACTS = RouteFacts(ROUTE, {PARTITION: ENTRY}, {PARTITION: 100}, {PARTITION: REPORT})
PLAN = TopicPlan((), (TopicStatus("orders", (ROUTE,), (Note(State.MIRRORED, ""),)),), ())
NO_CONDITIONS = RouteConditions()


def condition(kind: str, text: str, who: str = "replicate east", **subject: object) -> Condition:
    """Returns a condition that holds since a minute before NOW."""
    since_ms = int((NOW - 60) * 1000)
    return Condition(kind=kind, who=who, text=text, since_ms=since_ms, **subject)  # type: ignore[arg-type]
