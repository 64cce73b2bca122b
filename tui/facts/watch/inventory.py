"""Inventory of what is asked about an appliance, and of what makes a snapshot of the answers.

A new subject is added here: its questions, and the builder of its fields.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from tui.facts.alert import Alert
from tui.facts.alert_rules import NO_LOOK, next_look
from tui.facts.snapshot import Snapshot
from tui.facts.watch.admins import Admins
from tui.facts.watch.assembly import COPIES_AGE, Assembly, Builder, Finisher
from tui.facts.watch.audit_questions import audit_fields, audit_questions
from tui.facts.watch.balance_questions import balance_fields, balance_questions
from tui.facts.watch.event_questions import event_fields, event_questions
from tui.facts.watch.feed_questions import feed_fields, feed_questions
from tui.facts.watch.group_questions import copies_age_in, group_fields, group_questions
from tui.facts.watch.look import look
from tui.facts.watch.notice_questions import notice_questions
from tui.facts.watch.plan_questions import plan_fields, plan_questions
from tui.facts.watch.question import Answers, Question
from tui.facts.watch.region_questions import region_questions
from tui.facts.watch.resume_process import ResumeProcess, resume_fields, resume_question
from tui.facts.watch.route_questions import route_questions
from tui.facts.watch.spotlight import Spotlight
from tui.facts.watch.traffic_questions import traffic_questions


@dataclass(frozen=True, slots=True)
class Inventory:
    """Questions about an appliance, and the assembly that makes snapshots of their answers."""

    questions: tuple[Question, ...]
    assembly: Assembly

    def snapshot(self, timeout_seconds: float) -> Snapshot:
        """Returns a snapshot after the timeout at the latest, with every question asked once."""
        return self.assembly.snapshot(look(self.questions, timeout_seconds), time.time())


def whole_inventory(
    appliance: Appliance, timeout_seconds: float, spotlight: Spotlight | None = None
) -> Inventory:
    """Returns the inventory of everything.

    Args:
        timeout_seconds: of every client.
        spotlight: what is on screen; None: all is asked once, for `sluice status`.
    """
    admins = Admins(appliance, timeout_seconds)
    regions, routes = sorted(appliance.regions), appliance.routes
    questions = [
        *_base(admins, regions, routes, appliance.cluster_names, spotlight),
        *balance_questions(admins),
        *group_questions(admins),
        *feed_questions(admins),
        *audit_questions(appliance, timeout_seconds),
        *event_questions(appliance, timeout_seconds),
    ]
    if spotlight is not None:
        process = ResumeProcess.of(appliance, timeout_seconds)
        questions += [
            *traffic_questions(appliance, routes, timeout_seconds),
            *plan_questions(appliance),
            resume_question(process, lambda: spotlight.group),
        ]
    assembly = Assembly(
        appliance, regions, routes, questions, builders(appliance), finishers(appliance)
    )
    return Inventory(tuple(questions), assembly)


def routes_inventory(
    appliance: Appliance, routes: Sequence[Route], timeout_seconds: float
) -> Inventory:
    """Returns the inventory of some routes and their target regions, to be asked once."""
    admins = Admins(appliance, timeout_seconds)
    regions = sorted({route.target for route in routes})
    feeding = {it.source for region in regions for it in appliance.routes_into(region)}
    clusters = [
        *map(ClusterName.regional, sorted(feeding)),
        *map(ClusterName.aggregate, regions),
    ]
    questions = _base(admins, regions, routes, clusters, None)
    return Inventory(tuple(questions), Assembly(appliance, regions, routes, questions))


def _base(
    admins: Admins,
    regions: Sequence[str],
    routes: Sequence[Route],
    clusters: Sequence[ClusterName],
    spotlight: Spotlight | None,
) -> list[Question]:
    return [
        *region_questions(admins, clusters),
        *notice_questions(admins.appliance, regions, admins.timeout_seconds),
        *route_questions(admins, routes, spotlight),
    ]


def builders(appliance: Appliance) -> dict[str, Builder]:
    """Returns the builders of all fields that the assembly does not make itself, by subject."""

    def copies_fields(answers: Answers, now: float) -> dict[str, object]:
        ages = {it: copies_age_in(appliance, answers, it, now) for it in appliance.regions}
        return {COPIES_AGE: ages}

    return {
        "age of the copies": copies_fields,
        "balance": balance_fields(appliance),
        "groups": group_fields(appliance),
        "resume offsets": resume_fields,
        "plans": plan_fields,
        "feeds": feed_fields(appliance),
        "audits": audit_fields(appliance),
        "events": event_fields(appliance),
    }


def finishers(appliance: Appliance) -> dict[str, Finisher]:
    """Returns the makers of fields that follow from all others: the alerts."""
    return {"alerts": AlertMemory()}


class AlertMemory:
    """Finisher of snapshots: makes the field `alerts` when all others are known."""

    def __init__(self) -> None:
        self._last = NO_LOOK

    def __call__(self, snapshot: Snapshot) -> dict[str, tuple[Alert, ...]]:
        """Returns the alerts of a snapshot; those that have ended stay for an hour."""
        self._last = next_look(self._last, snapshot, snapshot.acknowledgements, snapshot.taken_at)
        return {"alerts": self._last.alerts}
