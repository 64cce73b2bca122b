"""Assembly of a snapshot: facts about routes and regions out of the last answers, views of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.kafka.admin.topic import Topic
from replicator.mirror.topics.topic_plan import TopicPlan, plan
from tui.facts.balancing import BalanceView
from tui.facts.moments import since_text
from tui.facts.part import THIS_CONSOLE, Part, each_once
from tui.facts.route_facts import Loads, RouteFacts
from tui.facts.route_summary import route_view
from tui.facts.route_view import RouteView
from tui.facts.snapshot import Snapshot
from tui.facts.watch.history import History
from tui.facts.watch.notice_questions import conditions_of, known_conditions, notices_key
from tui.facts.watch.question import Answer, Answers, Key, Question
from tui.facts.watch.region_questions import reach_key, region_views
from tui.facts.watch.route_positions import RoutePositions
from tui.facts.watch.route_questions import (
    RouteReports,
    ends_key,
    focused_ends_key,
    focused_ledger_key,
    ledger_key,
    reports_key,
    topics_key,
)
from tui.facts.watch.traffic_questions import traffic_key

Builder = Callable[[Answers, float], Mapping[str, object]]
"""Returns fields of a snapshot. COPIES_AGE is for the regions and no field."""
Finisher = Callable[[Snapshot], Mapping[str, object]]
"""Returns fields that follow from a snapshot which has all others."""
COPIES_AGE = "copies_age_seconds"
"""Age of the oldest copy of another region's log, by the region that holds the copies."""
HOT = "hot partition"
"""Name of the balancer's alert about a partition."""
NOTHING: Mapping[str, Any] = MappingProxyType({})
LASTING_SECONDS = 15.0
"""Age from which a problem is told with its beginning."""
logger = logging.getLogger(__name__)
Made = TypeVar("Made")


class Assembly:
    """Assembly of snapshots of an appliance, one after another, by one thread.

    Args:
        regions, routes: that the snapshots show.
        questions: that are asked.
        builders: by what they are about, called in this order. When one fails, its fields are left
            out, and a part of the snapshot tells why.
        finishers: likewise, called last.
        plan_topics: makes a topic plan; for tests.
    """

    def __init__(
        self,
        appliance: Appliance,
        regions: Sequence[str],
        routes: Sequence[Route],
        questions: Iterable[Question],
        builders: Mapping[str, Builder] = NOTHING,
        finishers: Mapping[str, Finisher] = NOTHING,
        plan_topics: Callable[..., TopicPlan] = plan,
    ) -> None:
        self._appliance = appliance
        self._regions, self._routes = tuple(regions), tuple(routes)
        asked = tuple(questions)
        self._cadences = {each.key: each.cadence_seconds for each in asked}
        self._once = frozenset(each.key for each in asked if each.is_once)
        self._builders, self._finishers = dict(builders), dict(finishers)
        self._plan_topics = plan_topics
        self._attempts = Attempts()
        self._positions = {route.name: RoutePositions(route) for route in self._routes}
        self._history = History()
        self._plans: dict[str, tuple[list[object], TopicPlan]] = {}

    def snapshot(self, answers: Answers, now: float) -> Snapshot:
        """Returns the snapshot of the last answers; `now` in Unix seconds."""
        fields: dict[str, Any] = {}
        attempt = partial(self._attempts.made, now=now)
        for about, build in self._builders.items():
            fields |= attempt(about, partial(build, answers, now), NOTHING)
        ages = fields.pop(COPIES_AGE, {})
        balance: tuple[BalanceView, ...] = fields.get("balance", ())
        balanced = [each.region for each in balance if each.lease_who]
        views = partial(region_views, self._appliance, self._regions, answers, ages, balanced)
        snapshot = Snapshot(
            taken_at=now,
            regions=attempt("regions", views, ()),
            routes=tuple(
                attempt(
                    f"route {route.name}",
                    partial(self._route, route, answers, balance, now),
                    unknown_route(route),
                )
                for route in self._routes
            ),
            conditions=conditions_of(answers, self._regions, now),
            **fields,
        )
        parts = tuple(self._parts(answers))
        snapshot = replace(snapshot, parts=(*parts, *self._attempts.failed))
        for about, finish in self._finishers.items():
            snapshot = replace(snapshot, **attempt(about, partial(finish, snapshot), NOTHING))
        return replace(snapshot, parts=(*parts, *self._attempts.failed))

    def _parts(self, answers: Answers) -> Iterable[Part]:
        for key, answer in answers.by_key.items():
            # An answer that is never asked for again has no age that matters.
            if key in self._once and answer.asked_at is not None:
                continue
            yield self._part(key, answer)

    def _part(self, key: Key, answer: Answer) -> Part:
        return Part(
            server=key.server,
            about=key.about,
            asked_at=answer.asked_at,
            cadence_seconds=self._cadences.get(key, 0.0),
            problem=answer.problem,
            problem_since=answer.problem_since,
        )

    def _route(
        self, route: Route, answers: Answers, balance: Sequence[BalanceView], now: float
    ) -> RouteView:
        history = self._history.of(route.name)
        reports: RouteReports | None = answers.value(reports_key(route.target))
        if reports is not None:
            history.hear(reports[route.name], now)
        history.add_rates(answers.value(traffic_key(route)) or {})
        facts = self._facts(route, answers, loads_of(route, balance), now)
        view = route_view(facts, self._plan(route.target, answers), now)
        history.add(view, now)
        # Lets the screen's thread go on between two routes.
        time.sleep(0)
        return view

    def _plan(self, target: str, answers: Answers) -> TopicPlan:
        """Returns the topic plan that a daemon in the target region would make.

        When the target does not answer, the plan is made from the sources alone. It is made again
        only after another answer about topics.
        """
        sources: dict[Route, Sequence[Topic] | None] = {
            route: answers.value(topics_key(ClusterName.regional(route.source)))
            for route in self._appliance.routes_into(target)
        }
        existing: Sequence[Topic] | None = answers.value(topics_key(ClusterName.aggregate(target)))
        inputs: list[object] = [*sources.values(), existing]
        known = self._plans.get(target)
        if known is None or any(a is not b for a, b in zip(known[0], inputs, strict=True)):
            known = inputs, self._plan_topics(sources, existing or (), self._appliance.topics)
            self._plans[target] = known
        return known[1]

    def _facts(self, route: Route, answers: Answers, loads: Loads, now: float) -> RouteFacts:
        source, target = ClusterName.regional(route.source), ClusterName.aggregate(route.target)
        found = self._positions[route.name].read(answers)
        entries = found.entries
        reports: RouteReports | None = answers.value(reports_key(route.target))
        silence = partial(self._silence, answers, now)
        ends = silence(
            ends_key(source), focused_ends_key(route), topics_key(source), reach_key(source)
        )
        if ends is None and found.are_ends_older:
            ends = _age_of_ends(answers, source, now)
        settings = self._appliance.balance
        own = settings.routes.get(route.name)
        return RouteFacts(
            route=route,
            entries=entries.read if entries else None,
            source_ends=found.ends,
            reports=None if reports is None else reports[route.name],
            unreadable=entries.unreadable if entries else {},
            topics_lacking=entries.adopted.keys() if entries else None,
            is_target_known=answers.answer(topics_key(target)).asked_at is not None,
            problems=_problems(answers, route),
            silence_of_ends=ends,
            silence_of_entries=silence(
                ledger_key(route),
                focused_ledger_key(route),
                topics_key(target),
                reach_key(target),
            ),
            silence_of_reports=silence(reports_key(route.target), notices_key(route.target)),
            conditions=known_conditions(answers, route.target, now) or (),
            past=self._history.of(route.name).past(now),
            loads=loads,
            lag_seconds_max=(own and own.lag_seconds_max) or settings.lag_seconds_max,
        )

    def _silence(self, answers: Answers, now: float, *keys: Key) -> str | None:
        """Returns why an answer is missing or too old; None when it is fresh.

        Args:
            keys: of the answer, and then of those that may say why it is not.
        """
        key = keys[0]
        answer = answers.answer(key)
        if not self._part(key, answer).is_stale(now):
            return None
        for each in keys:
            found = answers.answer(each)
            if found.problem is not None:
                return found.problem + _since(found.problem_since, now)
        if answer.asked_at is None:
            return f"{key.server} has not answered yet"
        return f"{key.server} has not answered for {now - answer.asked_at:.0f} s"


def loads_of(route: Route, balance: Iterable[BalanceView]) -> Loads:
    """Returns the loads of a route's carriers and partitions, by the balancer's last rounds."""
    streams = [each for view in balance for each in view.streams if each.route == route.name]
    return Loads(
        {
            carrier.number: carrier.load
            for stream in streams
            if stream.is_current
            for carrier in stream.carriers or ()
            if carrier.load is not None
        },
        # The text of an alert begins with the partition, such as "orders-17 takes 0.84 of".
        {
            alert.text.partition(" ")[0]: alert.text
            for stream in streams
            for alert in stream.current_alerts
            if alert.name == HOT
        },
    )


def unknown_route(route: Route) -> RouteView:
    """Returns the view of a route of which nothing can be told."""
    why = "its view cannot be made"
    return RouteView(
        route=route.name,
        source=route.source,
        target=route.target,
        topics=None,
        denied_topics=0,
        problems=(why,),
        why=why,
    )


def _age_of_ends(answers: Answers, source: ClusterName, now: float) -> str:
    """Returns why the ends of a source's logs are older than the ledger entries."""
    found = answers.answer(ends_key(source))
    if found.problem is not None:
        return found.problem + _since(found.problem_since, now)
    return f"the log ends of {source} were read before the ledger"


def _since(at: float | None, now: float) -> str:
    """Returns since when, unless it began just now."""
    return "" if at is None or now - at < LASTING_SECONDS else f", since {since_text(at, now)}"


def _problems(answers: Answers, route: Route) -> tuple[str, ...]:
    """Returns the problems of the questions that a route is shown by."""
    source, target = ClusterName.regional(route.source), ClusterName.aggregate(route.target)
    keys = [
        topics_key(source),
        ends_key(source),
        topics_key(target),
        ledger_key(route),
        reports_key(route.target),
    ]
    return each_once(answers.answer(key).problem for key in keys)


class Attempts:
    """Attempts of one assembly, from one snapshot to the next."""

    def __init__(self) -> None:
        self._failed: dict[str, Part] = {}

    def made(self, about: str, make: Callable[[], Made], instead: Made, *, now: float) -> Made:
        """Returns what `make` returns, or `instead` when it fails.

        Args:
            about: subject of what is made, for people.
            now: Unix seconds.
        """
        try:
            found = make()
        except Exception as error:
            # A mistake of ours, or data that nobody thought of. The rest is shown.
            logger.debug("%s cannot be shown", about, exc_info=True)
            self._fail(about, f"{type(error).__name__}: {error}", now)
            return instead
        self._failed.pop(about, None)
        return found

    @property
    def failed(self) -> tuple[Part, ...]:
        """Parts that could not be made the last time."""
        return tuple(self._failed.values())

    def _fail(self, about: str, why: str, now: float) -> None:
        before = self._failed.get(about)
        self._failed[about] = Part(
            server=THIS_CONSOLE,
            about=about,
            # The answers are there, whatever becomes of them.
            asked_at=now,
            problem=f"{THIS_CONSOLE}: {about} cannot be shown: {why}",
            problem_since=now if before is None else before.problem_since,
        )
