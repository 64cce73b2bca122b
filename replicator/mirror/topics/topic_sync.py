"""Sync of a target's topics with its sources, and the topics that can be carried now."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from balancer.plan import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.kafka.admin.admin import Admin, describe
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.admin.topic import Topic
from replicator.kafka.admin.topic_changes import Action, Create
from replicator.mirror.topics.topic_plan import Carried, State, TopicPlan, is_mirrorable, plan
from replicator.notices.condition import Kind, Subject
from replicator.notices.conditions import Conditions
from replicator.runtime.report_once import ReportOnce

log = logging.getLogger(__name__)

# A new topic shows up in every broker's metadata a moment later.
VISIBLE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Ends:
    """Clusters of all routes into one region; each source cluster once."""

    target: Admin
    sources: Mapping[str, Admin]
    """Admin clients of the source clusters, by region."""
    routes: tuple[Route, ...]

    @staticmethod
    def of(appliance: Appliance, region: str) -> Ends:
        routes = appliance.routes_into(region)
        return Ends(
            Admin(ClusterName.aggregate(region), appliance.region(region).aggregate),
            {
                route.source: Admin(ClusterName.regional(route.source), appliance.source_of(route))
                for route in routes
            },
            routes,
        )


class TopicSync:
    """Syncs topics in rounds: look at all ends; create, grow and alter on the target; look again.

    Blocking; a round takes as long as the slowest cluster, up to that cluster's timeouts.

    Args:
        ends: admin clients of the clusters; by default they are made.
    """

    def __init__(
        self,
        appliance: Appliance,
        region: str,
        conditions: Conditions,
        ends: Ends | None = None,
    ):
        self._conditions = conditions
        self._ends = ends or Ends.of(appliance, region)
        self._settings = appliance.topics
        self.limits: dict[str, int] = {}
        """Largest batch in bytes that the target takes, by topic; as of the last round."""
        self._carried: tuple[Carried, ...] = ()
        self._reports = ReportOnce()

    @property
    def target(self) -> Admin:
        return self._ends.target

    def round(self) -> tuple[Carried, ...]:
        """Returns the topics that can be carried now; a silent source keeps those it had.

        Raises:
            AdminError: the target does not answer, or refuses.
        """
        sources = self._described_sources()
        shown = {topic.name for some in sources.values() for topic in some or ()}
        # Topics of a silent source are still carried, and their limits still hold.
        names = sorted(shown | {each.topic for each in self._carried})
        seen = plan(sources, self._described_target(names), self._settings)
        self._act(seen.actions)
        if seen.actions:
            seen = self._after(seen.actions, sources, names)
        self._say(seen)
        self._carried = with_remembered(seen, self._carried)
        return self._carried

    def _described_sources(self) -> dict[Route, Sequence[Topic] | None]:
        admins = self._ends.sources
        with ThreadPoolExecutor(max(1, len(admins))) as threads:
            answers = dict(zip(admins, threads.map(self._described, admins.values()), strict=True))
        silent = {
            Subject(cluster=admins[source].name): str(answer)
            for source, answer in answers.items()
            if isinstance(answer, AdminError)
        }
        self._conditions.replace(Kind.SOURCE_SILENT, silent)
        found = {
            source: None if isinstance(answer, AdminError) else answer
            for source, answer in answers.items()
        }
        return {route: found[route.source] for route in self._ends.routes}

    def _described(self, admin: Admin) -> Sequence[Topic] | AdminError:
        try:
            topics = [topic for topic in admin.topics() if is_mirrorable(topic)]
        except AdminError as error:
            self._say_once(admin.name, f"event=source-silent {error}", logging.ERROR)
            return error
        if self._reports.settle(admin.name):
            log.info("event=source-answers cluster=%r", admin.name)
        return topics

    def _described_target(self, names: Iterable[str]) -> list[Topic]:
        # Asked even when no topic is: an unreachable target must show at once.
        self._ends.target.cluster_id()
        topics = self._ends.target.topics(names)
        limits = {topic.name: topic.configs.number("max.message.bytes") for topic in topics}
        self.limits = {name: int(limit) for name, limit in limits.items() if limit is not None}
        return topics

    def _act(self, actions: Sequence[Action]) -> None:
        refused: dict[Subject, str] = {}
        for outcome in self._ends.target.apply(actions):
            what = describe(outcome.action)
            if outcome.error:
                refused[Subject(topic=outcome.action.topic)] = str(outcome.error)
                self._say_once(what, f"event=topic-refused {outcome.error}", logging.ERROR)
            else:
                self._reports.settle(what)
                log.info("event=topic-changed %s", what)
        self._conditions.replace(Kind.TOPIC_REFUSED, refused)

    def _after(
        self,
        actions: Sequence[Action],
        sources: Mapping[Route, Sequence[Topic] | None],
        names: Sequence[str],
    ) -> TopicPlan:
        """Returns the plan once created topics are visible, or were waited for long enough."""
        awaited = {action.topic for action in actions if isinstance(action, Create)}
        deadline = time.monotonic() + VISIBLE_SECONDS
        while True:
            target = self._described_target(names)
            if awaited <= {topic.name for topic in target} or time.monotonic() > deadline:
                return plan(sources, target, self._settings)
            time.sleep(0.1)

    def _say(self, seen: TopicPlan) -> None:
        for status in seen.topics:
            if State.DENIED in status.states:
                continue
            routes = ",".join(map(str, status.routes))
            notes = "; ".join(f"{note.state}: {note.text}".rstrip(": ") for note in status.notes)
            fine = set(status.states) <= {State.MIRRORED}
            level = logging.INFO if fine else logging.WARNING
            self._say_once(
                status.topic, f"event=topic topic={status.topic} routes={routes} {notes}", level
            )

    def _say_once(self, about: str, line: str, level: int = logging.INFO) -> None:
        """Logs a line again only when it changes: a round comes every half minute, for months."""
        if self._reports.is_news(about, line):
            log.log(level, "%s", line)


def with_remembered(seen: TopicPlan, before: Iterable[Carried]) -> tuple[Carried, ...]:
    """Returns the topics that can be carried, and those of silent sources: their carriers wait."""
    silent = set(seen.unknown)
    return tuple(sorted({*seen.carried, *(each for each in before if each.route in silent)}))


def by_route(
    routes: Iterable[Route], carried: Iterable[Carried]
) -> dict[str, list[TopicPartition]]:
    """Returns route key -> all its partitions, in a planner's form; also routes with none."""
    found: dict[str, list[TopicPartition]] = {route.key: [] for route in routes}
    for each in carried:
        places = (TopicPartition(each.topic, number) for number in range(each.partitions))
        found[each.route.key].extend(places)
    return found
