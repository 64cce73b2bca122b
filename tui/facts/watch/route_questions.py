"""Questions about routes: topics of clusters, ledger entries, log ends, reports of carriers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.topic import Topic
from replicator.mirror.ledger.ledger_reader import Entries, LedgerReader
from replicator.mirror.offset_map.carrier_reports import CarrierReports
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.mirror.topics.topic_plan import is_mirrorable
from tui.facts.part import ENDS, REPORTS
from tui.facts.watch.admins import Admins
from tui.facts.watch.kept_client import KeptClient, kept_question
from tui.facts.watch.notice_questions import redis_name
from tui.facts.watch.question import Key, Question
from tui.facts.watch.spotlight import Spotlight

REDIS_SECONDS = 2.0
LOGS_SECONDS = 10.0
FOCUS_SECONDS = 2.0
TOPICS_SECONDS = 30.0

RouteReports = dict[str, dict[TopicPartition, PartitionReport]]
"""Reports by route and partition."""
Ends = dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class FocusedTopic:
    """Topic that is on screen, with its entries or ends; "" when none is."""

    topic: str = ""
    entries: Entries | None = None
    ends: Ends | None = None


def topics_key(cluster: ClusterName) -> Key:
    return Key(cluster, "topics")


def ends_key(cluster: ClusterName) -> Key:
    return Key(cluster, ENDS)


def ledger_key(route: Route) -> Key:
    return Key(ClusterName.aggregate(route.target), f"ledger of {route.name}")


def reports_key(region: str) -> Key:
    return Key(redis_name(region), REPORTS)


def focused_ledger_key(route: Route) -> Key:
    return Key(ClusterName.aggregate(route.target), f"ledger of {route.name}, topic on screen")


def focused_ends_key(route: Route) -> Key:
    return Key(ClusterName.regional(route.source), f"log ends, topic on screen of {route.name}")


def route_questions(
    admins: Admins, routes: Sequence[Route], spotlight: Spotlight | None
) -> list[Question]:
    """Returns the questions about routes.

    Args:
        spotlight: None: asked once, with nothing on screen.
    """
    appliance = admins.appliance
    # A topic's state depends on all sources that feed it, also on other routes.
    targets = sorted({route.target for route in routes})
    feeding = {route.source for target in targets for route in appliance.routes_into(target)}
    clusters = [
        *map(ClusterName.regional, sorted(feeding)),
        *map(ClusterName.aggregate, targets),
    ]
    timeout_seconds = admins.timeout_seconds
    asked = [
        *(_topics(admins, cluster) for cluster in clusters),
        *(_ledger(admins, route) for route in routes),
        *(_ends(admins, source, routes) for source in sorted({it.source for it in routes})),
        *(_reports(appliance, target, timeout_seconds) for target in targets),
    ]
    if spotlight is not None:
        asked += [_focused_ledger(admins, route, spotlight) for route in routes]
        asked += [_focused_ends(admins, route, spotlight) for route in routes]
    return asked


def _topics(admins: Admins, cluster: ClusterName) -> Question:
    return Question(
        key=topics_key(cluster),
        cadence_seconds=TOPICS_SECONDS,
        ask=lambda: mirrorable_topics(admins.of(cluster)),
        cluster=admins.cluster(cluster),
    )


def mirrorable_topics(admin: Admin) -> list[Topic]:
    """Returns the topics of a cluster that may be mirrored."""
    return [topic for topic in admin.topics() if is_mirrorable(topic)]


def _ledger(admins: Admins, route: Route) -> Question:
    kept = _reader(admins, route)

    def entries(topics: list[Topic], _: list[Topic]) -> Entries:
        return kept.ask(lambda reader: reader.entries({route: partitions_of(topics)})[route])

    source, target = ClusterName.regional(route.source), ClusterName.aggregate(route.target)
    return Question(
        key=ledger_key(route),
        cadence_seconds=LOGS_SECONDS,
        ask=entries,
        needs=(topics_key(source), topics_key(target)),
        cluster=admins.cluster(target),
        close=kept.close,
    )


def _reader(admins: Admins, route: Route) -> KeptClient[LedgerReader]:
    target = ClusterName.aggregate(route.target)
    return KeptClient(
        target, lambda: LedgerReader(target, admins.cluster(target), admins.timeout_seconds)
    )


def _ends(admins: Admins, source: str, routes: Iterable[Route]) -> Question:
    cluster = ClusterName.regional(source)
    return Question(
        key=ends_key(cluster),
        cadence_seconds=LOGS_SECONDS,
        ask=lambda topics: admins.of(cluster).offsets(partitions_of(topics), "latest"),
        needs=(topics_key(cluster),),
        cluster=admins.cluster(cluster),
        # Read after the entries, so that lag is never shown smaller than it is. A silent target
        # leaves time for them.
        waits_for=tuple(ledger_key(route) for route in routes if route.source == source),
    )


def _reports(appliance: Appliance, target: str, timeout_seconds: float) -> Question:
    redis, routes = appliance.region(target).redis_url, appliance.routes_into(target)

    def reports(store: CarrierReports) -> RouteReports:
        found = store.reports([route.key for route in routes])
        return {
            route.name: {
                TopicPartition(topic, number): report for (_, topic, number), report in some.items()
            }
            for route, some in zip(routes, found, strict=True)
        }

    return kept_question(
        reports_key(target),
        REDIS_SECONDS,
        lambda: CarrierReports(redis(), timeout_seconds=timeout_seconds),
        reports,
    )


def _focused_ledger(admins: Admins, route: Route, spotlight: Spotlight) -> Question:
    kept = _reader(admins, route)

    def entries(topics: list[Topic]) -> FocusedTopic:
        topic = spotlight.topic_of(route.name)
        partitions = partitions_of(each for each in topics if each.name == topic)
        if topic is None or not partitions:
            return FocusedTopic()
        return FocusedTopic(
            topic, entries=kept.ask(lambda reader: reader.entries({route: partitions})[route])
        )

    return Question(
        key=focused_ledger_key(route),
        cadence_seconds=FOCUS_SECONDS,
        ask=entries,
        needs=(topics_key(ClusterName.regional(route.source)),),
        follows_focus=True,
        close=kept.close,
    )


def _focused_ends(admins: Admins, route: Route, spotlight: Spotlight) -> Question:
    cluster = ClusterName.regional(route.source)

    def ends(topics: list[Topic]) -> FocusedTopic:
        topic = spotlight.topic_of(route.name)
        partitions = partitions_of(each for each in topics if each.name == topic)
        if topic is None or not partitions:
            return FocusedTopic()
        return FocusedTopic(topic, ends=admins.of(cluster).offsets(partitions, "latest"))

    return Question(
        key=focused_ends_key(route),
        cadence_seconds=FOCUS_SECONDS,
        ask=ends,
        needs=(topics_key(cluster),),
        follows_focus=True,
    )


def partitions_of(topics: Iterable[Topic]) -> list[TopicPartition]:
    """Returns all partitions of topics."""
    return [
        TopicPartition(topic.name, number) for topic in topics for number in range(topic.partitions)
    ]
