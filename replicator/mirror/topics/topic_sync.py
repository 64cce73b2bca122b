"""Sync of a target's topics with its sources, and the topics that can be carried now."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from uuid import UUID

from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.settings import TopicSettings
from replicator.config.topology import Appliance, Route
from replicator.kafka.admin.admin import Admin, Outcome, describe
from replicator.kafka.admin.admin_error import AdminError, AdminUnreachable, Refused
from replicator.kafka.admin.topic import Topic, number
from replicator.kafka.admin.topic_changes import Action, Alter, Create, Grow
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.mirror.topics.followed_configs import TO_COME, Bounds, WrittenConfigs
from replicator.mirror.topics.lowerings import Lowerings, Offsets
from replicator.mirror.topics.refused_configs import alternatives
from replicator.mirror.topics.topic_configs import ALWAYS, TAKEN, refusing
from replicator.mirror.topics.topic_plan import (
    Carried,
    Known,
    Selection,
    State,
    TopicPlan,
    is_mirrorable,
    plan,
)
from replicator.mirror.topics.written_log import WrittenLog, WrittenLogTopic
from replicator.notices.condition import Kind, Subject
from replicator.notices.conditions import Conditions
from replicator.runtime.report_once import ReportOnce

log = logging.getLogger(__name__)

# A new topic shows up in every broker's metadata a moment later.
VISIBLE_SECONDS = 5.0
PASSES_MAX = 20
"""Passes of one round. A topic that was made has configs to alter, and one of very many partitions
grows in steps."""
SELECTION = "*"
"""Key of the selection among the written configs. No topic has this name."""
WRITTEN = "written configs"
"""Subject of reports."""
ALTERNATIVES_MAX = 50
"""Alternatives tried one after the other to a refused action. Each has fewer configs, or a nearer
value; a target that answers each with another range must not hold up the round."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Clusters of all routes into one region; each source cluster once."""

    target: Admin
    sources: Mapping[str, Admin]
    """Admin clients of the source clusters, by region."""
    routes: tuple[Route, ...]
    written: WrittenLog = field(default_factory=WrittenLog)
    """Configs that were written to the target."""

    @staticmethod
    def of(appliance: Appliance, region: str) -> Ends:
        routes = appliance.routes_into(region)
        target = Admin(ClusterName.aggregate(region), appliance.region(region).aggregate)
        return Ends(
            target,
            {
                route.source: Admin(ClusterName.regional(route.source), appliance.source_of(route))
                for route in routes
            },
            routes,
            WrittenLogTopic(target),
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
        self._taken: Mapping[str, Mapping[str, int]] = {}
        """Configs that limit a batch, by topic; as the target last described them."""
        self.limits: dict[str, int] = {}
        """Largest batch in bytes that the target takes, by topic; as of the last round."""
        self.refusing: dict[str, tuple[str, ...]] = {}
        """Names of the errors by which the target refuses some records, by topic; likewise."""
        self._carried: tuple[Carried, ...] = ()
        self._bounds: dict[str, Bounds] = {}
        self._lowerings = Lowerings()
        self._needs: Mapping[str, int] = {}
        self._sources: Mapping[Route, Sequence[Topic] | None] = {}
        self._first_names: dict[Route, frozenset[str]] = {}
        self._seen_before: TopicPlan | None = None
        self._reports = ReportOnce()

    @property
    def target(self) -> Admin:
        return self._ends.target

    def round(self, needs: Mapping[str, int] = MappingProxyType({})) -> tuple[Carried, ...]:
        """Returns the topics that can be carried now; a silent source keeps those it had.

        Args:
            needs: by topic, the limit of a batch that the next record of some partition needs.
        Raises:
            AdminError: the target does not answer, or refuses.
        """
        sources = self._described_sources()
        self._sources, self._needs = sources, needs
        shown = {topic.name for some in sources.values() for topic in some or ()}
        # Topics of a silent source are still carried, and their limits still hold.
        names = sorted(shown | {each.topic for each in self._carried})
        written = self._read_written()
        for route, topics in sources.items():
            if topics is not None and route not in self._first_names:
                before = (written or {}).get(SELECTION, WrittenConfigs(TO_COME))
                self._first_names[route] = found_first(
                    (topic.name for topic in topics), before.values.get(route.key)
                )
        seen = self._planned(sources, self._described_target(names), written)
        tried = Tried()
        for _ in range(PASSES_MAX):
            actions = tried.new(seen.actions)
            if not actions:
                break
            if written is not None:
                kept = self._write(seen.written, written, tried)
                actions = [each for each in actions if is_told(each, kept)]
            self._act(actions, tried)
            seen = self._after(actions, sources, names, written)
        if written is not None:
            self._write({**seen.written, **self._selected(written)}, written, tried)
            self._seen_before = seen
        # Brokers show a new limit a moment later; until the next round a record would be too large.
        for topic, sizes in tried.taken.items():
            self.limits[topic] = min({**self._taken.get(topic, {}), **sizes}.values())
        self._conditions.replace(Kind.TOPIC_REFUSED, tried.refused)
        self._hold_back(seen, sources)
        self._say(seen)
        self._carried = with_remembered(seen, self._carried)
        return self._carried

    def awaited(self) -> Mapping[Route, set[TopicPartition]]:
        """Returns the partitions whose progress decides when lowered configs are set."""
        return self._lowerings.awaited()

    def advance(self, mirrored: Offsets) -> bool:
        """Takes source offsets before which all is mirrored; True: a round has something to do."""
        return self._lowerings.advance(mirrored)

    def begins(
        self, route: Route, topic: str, partitions: int
    ) -> dict[int, tuple[int, UUID | None]]:
        """Returns where partitions 0..partitions-1 of a source begin that start at its latest
        records: by number, a source offset, or 0 for all, and the topic id that it belongs to.

        Blocking. Partitions whose source does not tell are left out. Records of a topic that was
        made while this driver runs, or since the one before it looked, are all carried.
        """
        described = self._sources.get(route)
        if described is None:
            return {}
        found = next((each for each in described if each.name == topic), None)
        there = 0
        if found and topic in self._first_names.get(route, ()):
            there = min(partitions, found.partitions)
        begins: dict[int, tuple[int, UUID | None]]
        begins = dict.fromkeys(range(there, partitions), (0, None))
        places = [TopicPartition(topic, number) for number in range(there)]
        try:
            ends = self._ends.sources[route.source].offsets(places, "latest")
        except AdminError:
            return begins
        topic_id = found.topic_id if found else None
        return begins | {place.partition: (end, topic_id) for place, end in ends.items()}

    def _selected(self, written: Mapping[str, WrittenConfigs]) -> dict[str, WrittenConfigs]:
        """Returns the record of what was selected in the round before.

        Its topics have been adopted since, or it is not known that they are.
        """
        if self._seen_before is None:
            return {}
        kept = dict(written[SELECTION].values) if SELECTION in written else {}
        for route in self._ends.routes:
            if route not in self._seen_before.unknown:
                kept[route.key] = selected(self._settings, self._seen_before, route)
        return {SELECTION: WrittenConfigs(TO_COME, kept)}

    def _planned(
        self,
        sources: Mapping[Route, Sequence[Topic] | None],
        target: Sequence[Topic],
        written: Mapping[str, WrittenConfigs] | None,
    ) -> TopicPlan:
        known = None
        if written is not None:
            known = Known(written, self._lowerings, self._bounds, self._needs)
        return plan(sources, target, self._settings, known)

    def _read_written(self) -> dict[str, WrittenConfigs] | None:
        """Returns what was written to the target; None while that is not known."""
        try:
            written = dict(self._ends.written.read())
        except AdminUnreachable:
            raise
        except (AdminError, LogUnreadable) as error:
            self._say_once(WRITTEN, f"event=written-configs-unread {error}", logging.ERROR)
            return None
        self._reports.settle(WRITTEN)
        return written

    def _write(
        self,
        wanted: Mapping[str, WrittenConfigs],
        written: dict[str, WrittenConfigs],
        tried: Tried,
    ) -> set[str]:
        """Returns the topics whose record is kept as wanted. Adds these to `written`."""
        news = {topic: it for topic, it in wanted.items() if written.get(topic) != it}
        if news:
            try:
                self._ends.written.write(news)
            except AdminError as error:
                for topic in news:
                    tried.refused[Subject(topic=topic)] = f"its configs stay: {error}"
                self._say_once(WRITTEN, f"event=written-configs-unread {error}", logging.ERROR)
                return wanted.keys() - news.keys()
            written |= news
        return set(wanted)

    def _hold_back(self, seen: TopicPlan, sources: Mapping[Route, Sequence[Topic] | None]) -> None:
        """Takes the ends of source partitions whose topic has a lowered config."""
        for topic in self._lowerings.keep(seen.waiting):
            found: dict[Route, dict[TopicPartition, int]] = {}
            for route, topics in sources.items():
                count = next((it.partitions for it in topics or () if it.name == topic), 0)
                places = [TopicPartition(topic, number) for number in range(count)]
                try:
                    ends = self._ends.sources[route.source].offsets(places, "latest")
                except AdminError:
                    break  # asked again in the next round
                if len(ends) < count:
                    break
                found[route] = dict(ends)
            else:
                self._lowerings.begin(topic, found)

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
        self._taken = {topic.name: taken(topic.configs.values) for topic in topics}
        self.limits = {name: min(sizes.values()) for name, sizes in self._taken.items() if sizes}
        self.refusing = {topic.name: refusing(topic.configs) for topic in topics}
        return topics

    def _act(self, actions: Sequence[Action], tried: Tried) -> None:
        for _ in range(ALTERNATIVES_MAX):
            if not actions:
                return
            next_actions: list[Action] = []
            for outcome in self._ends.target.apply(actions):
                action, error = outcome.action, outcome.error
                what = describe(action)
                if error is None:
                    self._reports.settle(what)
                    log.info("event=topic-changed %s", what)
                    tried.did(action)
                    continue
                if isinstance(error, Refused) and isinstance(action, Create | Alter):
                    instead = alternatives(action, error.answer)
                    for name, bounds in instead.bounds.items():
                        self._bounds[name] = self._bounds.get(name, Bounds()).narrowed(bounds)
                    next_actions += instead.actions
                    if not instead.refused:
                        continue
                tried.refuse(outcome)
                self._say_once(what, f"event=topic-refused {error}", logging.ERROR)
            actions = next_actions

    def _after(
        self,
        actions: Sequence[Action],
        sources: Mapping[Route, Sequence[Topic] | None],
        names: Sequence[str],
        written: Mapping[str, WrittenConfigs] | None,
    ) -> TopicPlan:
        """Returns the plan once changed topics are visible, or were waited for long enough."""
        deadline = time.monotonic() + VISIBLE_SECONDS
        while True:
            target = self._described_target(names)
            partitions = {topic.name: topic.partitions for topic in target}
            is_visible = all(is_seen(action, partitions) for action in actions)
            if is_visible or time.monotonic() > deadline:
                return self._planned(sources, target, written)
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


class Tried:
    """Actions that one round has tried, and what was refused."""

    def __init__(self) -> None:
        self._sized: set[tuple[type[Action], str, int]] = set()
        self._set: set[tuple[str, str, str]] = set()
        self.refused: dict[Subject, str] = {}
        self.taken: dict[str, dict[str, int]] = {}
        """Limits of a batch that were set, by topic and config."""

    def new(self, actions: Sequence[Action]) -> list[Action]:
        """Returns the actions without all that was tried before.

        Brokers show a change a moment after it was made, and a refused one is wanted still.
        """
        found: list[Action] = []
        for action in actions:
            if isinstance(action, Alter):
                configs = tuple(c for c in action.configs if (action.topic, *c) not in self._set)
                self._set |= {(action.topic, *each) for each in configs}
                found += [replace(action, configs=configs)] if configs else []
            else:
                partitions = action.partitions if isinstance(action, Create) else action.to
                key = (type(action), action.topic, partitions)
                found += [action] if key not in self._sized else []
                self._sized.add(key)
        return found

    def did(self, action: Action) -> None:
        """Notes an action that is done."""
        if isinstance(action, Create | Alter) and (sizes := taken(dict(action.configs))):
            self.taken.setdefault(action.topic, {}).update(sizes)

    def refuse(self, outcome: Outcome) -> None:
        """Notes an action that is not done."""
        subject = Subject(topic=outcome.action.topic)
        texts = dict.fromkeys((*self.refused.get(subject, "").split("; "), str(outcome.error)))
        self.refused[subject] = "; ".join(filter(None, texts))


def selected(settings: TopicSettings, seen: TopicPlan, route: Route) -> tuple[str, ...]:
    """Returns what a driver selects from a route's source: patterns that allow (+) and deny (-),
    and topics (=) that they allow and that are not carried."""
    patterns = [f"+{it}" for it in settings.allow] + [f"-{it}" for it in settings.deny]
    return (
        *patterns,
        *(
            f"={status.topic}"
            for status in seen.topics
            if route in status.routes
            and State.DENIED not in status.states
            and not status.is_carried
        ),
    )


def found_first(names: Iterable[str], before: Sequence[str] | None) -> frozenset[str]:
    """Returns the names of topics that this driver finds first, of those that its source shows.

    Others that no driver has adopted were made since the driver before looked.

    Args:
        before: what that driver selected; None if there was none.
    """
    if before is None:
        return frozenset(names)
    by_sign = {sign: tuple(it[1:] for it in before if it[0] == sign) for sign in "+-="}
    selection = Selection(TopicSettings(allow=by_sign["+"], deny=by_sign["-"]))
    waited = frozenset(by_sign["="])
    return frozenset(name for name in names if name in waited or not selection.is_allowed(name))


def taken(configs: Mapping[str, str]) -> dict[str, int]:
    """Returns the configs of a topic that limit a batch, in bytes."""
    sizes = {name: number(name, configs.get(name)) for name in TAKEN}
    return {name: int(size) for name, size in sizes.items() if size is not None}


def is_told(action: Action, kept: Collection[str]) -> bool:
    """Returns True for an action whose configs the record of its topic has."""
    if not isinstance(action, Alter) or dict(action.configs).keys() <= ALWAYS.keys():
        return True
    return action.topic in kept


def is_seen(action: Action, partitions: Mapping[str, int]) -> bool:
    """Returns True once a change shows.

    Args:
        partitions: of the topics that the target shows.
    """
    match action:
        case Create(topic):
            return topic in partitions
        case Grow(topic, to):
            return partitions.get(topic, 0) >= to
        case Alter():
            return True


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
