"""Probe of clusters and Redis servers for a snapshot; an unreachable one becomes a problem."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from balancer.plan import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.topic import Topic
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from replicator.mirror.ledger.entries import Entries, entries_of
from replicator.mirror.offset_map.carrier_reports import CarrierReports, Reports
from replicator.mirror.topics.topic_plan import TopicPlan, is_mirrorable, plan
from replicator.notices.notice_store import NoticeStore
from tui.state.inquiry import Inquiry, Reply
from tui.state.snapshot import Notices, RouteFacts, Snapshot, snapshot

ENTRIES_FIRST_PART = 0.3
"""Part of the timeout in which the ends of a source wait for the entries."""


@dataclass(frozen=True, slots=True)
class _Replies:
    """Replies about one route."""

    ledger: Reply[Entries]
    ends: Reply[dict[TopicPartition, int]]
    reports: Reply[dict[Route, Reports]]


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

    def read(self) -> Snapshot:
        """Returns a snapshot of the routes after the timeout at the latest.

        Raises nothing for an unreachable server.
        """
        inquiry = Inquiry(self._timeout_seconds, Answered, Unreachable, ValueError)
        topics = {
            admin.name: inquiry.ask_cluster(
                admin.name, admin.cluster, partial(_mirrorable_topics, admin)
            )
            for admin in (*self._sources.values(), *self._targets.values())
        }
        reports = {
            target: inquiry.ask(_redis(target), partial(self._reports, target))
            for target in self._targets
        }
        asked_notices = {
            target: inquiry.ask(_redis(target), partial(self._notices, target))
            for target in self._targets
        }
        asked = {
            route: self._ask(inquiry, route, topics, reports[route.target])
            for route in self._routes
        }
        described = {name: reply.answer() for name, reply in topics.items()}
        facts = [
            self._facts(inquiry, route, replies, described[self._targets[route.target].name])
            for route, replies in asked.items()
        ]
        plans = {target: self._plan(target, described) for target in self._targets}
        notices = {
            target: found
            for target, reply in asked_notices.items()
            if (found := reply.answer()) is not None
        }
        return snapshot(facts, plans, notices, time.time())

    def _feeding(self) -> list[Route]:
        targets = sorted({route.target for route in self._routes})
        return [route for target in targets for route in self._appliance.routes_into(target)]

    def _plan(self, target: str, described: Mapping[str, list[Topic] | None]) -> TopicPlan:
        """Makes the topic plan that a daemon in the target region would make.

        When the target does not answer, the plan is made from the sources alone.
        """
        sources = {
            route: described[ClusterName.regional(route.source)]
            for route in self._appliance.routes_into(target)
        }
        existing = described[ClusterName.aggregate(target)]
        return plan(sources, existing or (), self._appliance.topics)

    def _ask(
        self,
        inquiry: Inquiry,
        route: Route,
        topics: Mapping[str, Reply[list[Topic]]],
        reports: Reply[dict[Route, Reports]],
    ) -> _Replies:
        source, target = self._sources[route.source], self._targets[route.target]
        timeout_seconds = self._timeout_seconds

        def entries(found: list[Topic], _: list[Topic]) -> Entries:
            asked = {route: _partitions(found)}
            return entries_of(target.name, target.cluster, asked, timeout_seconds)[route]

        def ends(found: list[Topic]) -> dict[TopicPartition, int]:
            # Read after the entries, so that lag is never shown smaller than it is. A silent
            # target leaves time for them.
            ledger.early(inquiry.left(ENTRIES_FIRST_PART))
            return source.offsets(_partitions(found), "latest")

        from_source, from_target = topics[source.name], topics[target.name]
        ledger = inquiry.ask_cluster(
            target.name, target.cluster, entries, [from_source, from_target]
        )
        return _Replies(
            ledger,
            inquiry.ask_cluster(source.name, source.cluster, ends, [from_source]),
            reports,
        )

    def _reports(self, target: str) -> dict[Route, Reports]:
        routes = self._appliance.routes_into(target)
        url = self._appliance.region(target).redis_url()
        with CarrierReports(url, timeout_seconds=self._timeout_seconds) as store:
            found = store.reports([route.key for route in routes])
        return dict(zip(routes, found, strict=True))

    def _notices(self, target: str) -> Notices:
        url = self._appliance.region(target).redis_url()
        with NoticeStore(url, target, timeout_seconds=self._timeout_seconds) as store:
            return Notices(tuple(store.conditions()), tuple(store.daemons()))

    def _facts(
        self,
        inquiry: Inquiry,
        route: Route,
        replies: _Replies,
        target_topics: list[Topic] | None,
    ) -> RouteFacts:
        ledger, ends = replies.ledger.answer(), replies.ends.answer()
        reports = replies.reports.answer()
        # All answers are in by now, so that all problems are known.
        problems = inquiry.problems
        servers = (
            self._sources[route.source].name,
            self._targets[route.target].name,
            _redis(route.target),
        )
        return RouteFacts(
            route=route,
            entries=ledger.read if ledger else None,
            source_ends=ends,
            reports=None
            if reports is None
            else {
                TopicPartition(topic, number): report
                for (_, topic, number), report in reports[route].items()
            },
            unreadable=ledger.unreadable if ledger else {},
            is_target_known=target_topics is not None,
            problems=tuple(problems[name] for name in servers if name in problems),
        )


def _mirrorable_topics(admin: Admin) -> list[Topic]:
    return [topic for topic in admin.topics() if is_mirrorable(topic)]


def _partitions(topics: Iterable[Topic]) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, number) for topic in topics for number in range(topic.partitions)
    ]


def _redis(region: str) -> str:
    return f"{region} Redis"
