"""Snapshot of a whole appliance, as a value that every reader (table, JSON, console) shows.

Unknown is None, never 0.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import TypeAdapter

from replicator.audit.kept_audit import KeptAudit
from replicator.notices.acknowledgement import Acknowledgement
from replicator.notices.condition import Condition
from tui.facts.alert import Alert
from tui.facts.anomaly import Anomaly
from tui.facts.balancing import BalanceView
from tui.facts.feed_status import FeedView
from tui.facts.group_view import GroupDetail, GroupView
from tui.facts.part import Part, each_once
from tui.facts.plan_summary import PlanSummary
from tui.facts.region_view import RegionEvent, RegionView
from tui.facts.route_view import RouteView

SCHEMA_VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """State of an appliance at one time.

    Args:
        taken_at: Unix seconds.
        parts: questions to servers, with the age of each answer and what was in the way.
        groups, audits, anomalies, events, plans, alerts: None when not asked, or not known.
        group_detail: of the group that is on screen.
    """

    taken_at: float
    parts: tuple[Part, ...] = ()
    regions: tuple[RegionView, ...] = ()
    routes: tuple[RouteView, ...] = ()
    conditions: tuple[Condition, ...] = ()
    groups: tuple[GroupView, ...] | None = None
    group_detail: GroupDetail | None = None
    balance: tuple[BalanceView, ...] = ()
    plans: tuple[PlanSummary, ...] | None = None
    audits: tuple[KeptAudit, ...] | None = None
    anomalies: tuple[Anomaly, ...] | None = None
    acknowledgements: tuple[Acknowledgement, ...] = ()
    alerts: tuple[Alert, ...] | None = None
    feeds: tuple[FeedView, ...] = ()
    events: tuple[RegionEvent, ...] | None = None
    problems: tuple[str, ...] = ()
    """Problems of all servers, each once; worked out, whatever is passed."""
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        found = [part.problem for part in self.parts]
        found += [text for route in self.routes for text in route.problems]
        object.__setattr__(self, "problems", each_once(found))


def schema_text() -> str:
    """Returns the JSON Schema of a snapshot, as docs/status.schema.json has it."""
    schema = TypeAdapter(Snapshot).json_schema(mode="serialization")
    return json.dumps({**schema, "title": "sluice status -o json"}, indent=2) + "\n"
