"""Probe of clusters and Redis servers for a snapshot; an unreachable one becomes a problem."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from balancer.plan import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.topic import Topic
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from replicator.mirror.ledger.entries import Entries, entries_of
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.mirror.topics.topic_plan import TopicPlan, is_mirrorable, plan
from tui.state.problems import Answer, answer_or_none
from tui.state.snapshot import RouteFacts, Snapshot, snapshot

THREADS_MAX = 16


class RouteProbe:
    """Probe of the given routes; each cluster is asked once for its topics."""

    def __init__(
        self, appliance: Appliance, routes: Sequence[Route], timeout_seconds: float
    ) -> None:
        self._appliance = appliance
        self._routes = tuple(routes)
        self._timeout_seconds = timeout_seconds
        # A topic's state depends on all sources that feed it, also on other routes.
        self._sources = {
            name: Admin(
                ClusterName.regional(name), appliance.region(name).regional, timeout_seconds
            )
            for name in sorted({route.source for route in self._feeding()})
        }
        self._targets = {
            name: Admin(
                ClusterName.aggregate(name), appliance.region(name).aggregate, timeout_seconds
            )
            for name in sorted({route.target for route in routes})
        }
        self._problems: dict[str, str] = {}

    def read(self) -> Snapshot:
        """Returns a snapshot of the routes.

        The probe takes about as long as the slowest cluster, and raises nothing for an unreachable
        one.
        """
        with ThreadPoolExecutor(THREADS_MAX) as threads:
            admins = [*self._sources.values(), *self._targets.values()]
            described = dict(
                zip((a.name for a in admins), threads.map(self._topics, admins), strict=True)
            )
            facts = list(threads.map(lambda route: self._facts(route, described), self._routes))
        plans = {target: self._plan(target, described) for target in self._targets}
        return snapshot(facts, plans, time.time())

    def _feeding(self) -> list[Route]:
        targets = sorted({route.target for route in self._routes})
        return [route for target in targets for route in self._appliance.routes_into(target)]

    def _topics(self, admin: Admin) -> list[Topic] | None:
        return self._answer(admin.name, lambda: [t for t in admin.topics() if is_mirrorable(t)])

    def _plan(self, target: str, described: dict[str, list[Topic] | None]) -> TopicPlan:
        """Makes the topic plan that a daemon in the target region would make.

        When the target does not answer, the plan is made from the sources alone.
        """
        sources = {
            route: described[ClusterName.regional(route.source)]
            for route in self._appliance.routes_into(target)
        }
        existing = described[ClusterName.aggregate(target)]
        return plan(sources, existing or (), self._appliance.topics)

    def _facts(self, route: Route, described: dict[str, list[Topic] | None]) -> RouteFacts:
        source, target = self._sources[route.source], self._targets[route.target]
        topics = described[source.name]
        partitions = [
            TopicPartition(topic.name, number)
            for topic in topics or ()
            for number in range(topic.partitions)
        ]
        ledger = None
        if described[target.name] is not None:
            ledger = self._answer(target.name, lambda: self._ledger(route, partitions))
        reports = self._reports(route)
        # Read after the entries, so that lag is never shown smaller than it is.
        ends = None
        if topics is not None:
            ends = self._answer(source.name, lambda: source.offsets(partitions, "latest"))
        servers = (source.name, target.name, f"{route.name} Redis")
        return RouteFacts(
            route=route,
            entries=ledger.read if ledger else None,
            source_ends=None
            if ends is None
            else {TopicPartition(*partition): end for partition, end in ends.items()},
            reports=reports,
            unreadable=ledger.unreadable if ledger else {},
            is_target_known=described[target.name] is not None,
            problems=tuple(self._problems[name] for name in servers if name in self._problems),
        )

    def _ledger(self, route: Route, partitions: Sequence[TopicPartition]) -> Entries:
        target = self._targets[route.target]
        found = entries_of(target.name, target.cluster, {route: partitions}, self._timeout_seconds)
        return found[route]

    def _reports(self, route: Route) -> dict[TopicPartition, PartitionReport] | None:
        url = self._appliance.region(route.target).redis_url()

        def read() -> dict[TopicPartition, PartitionReport]:
            with OffsetStore(url, route.key, timeout_seconds=self._timeout_seconds) as store:
                found = store.reports()
            return {
                TopicPartition(topic, number): report
                for (_, topic, number), report in found.items()
            }

        return self._answer(f"{route.name} Redis", read)

    def _answer(self, server: str, ask: Callable[[], Answer]) -> Answer | None:
        note = partial(self._problems.__setitem__, server)
        return answer_or_none(ask, note, Answered, Unreachable, ValueError)
