"""Questions about what was found and who has seen it: audits, anomalies, acknowledgements."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from aggregator.verifier.anomaly_board import AnomalyBoard
from replicator.audit.kept_audit import KeptAudit
from replicator.audit.kept_audits import KeptAudits
from replicator.config.topology import Appliance, Route
from replicator.notices.acknowledgement import Acknowledgement
from replicator.notices.acknowledgement_store import AcknowledgementStore
from tui.facts.anomaly import Anomaly, anomaly_of
from tui.facts.part import ANOMALIES, AUDITS
from tui.facts.watch.kept_client import kept_question
from tui.facts.watch.notice_questions import redis_name
from tui.facts.watch.question import Answers, Key, Question

AUDITS_SECONDS = 10.0
NOTED_SECONDS = 2.0
AUDITS_MAX = 20
"""Last audits of each route that are shown."""

log = logging.getLogger(__name__)


def audits_key(region: str) -> Key:
    return Key(redis_name(region), AUDITS)


def anomalies_key(region: str) -> Key:
    return Key(redis_name(region), ANOMALIES)


def acknowledgements_key(region: str) -> Key:
    return Key(redis_name(region), "acknowledgements")


class SeenAnomalies:
    """Anomalies of one region's board; rows that are unchanged are not parsed again."""

    def __init__(self, region: str) -> None:
        self._region = region
        self._rows: list[dict[str, Any]] = []
        self._known: tuple[Anomaly, ...] = ()

    def read(self, board: AnomalyBoard) -> tuple[Anomaly, ...]:
        """Returns the anomalies, the newest first. Raises StoreUnreachable, ValueError."""
        rows = board.recent()
        if rows != self._rows:
            self._known = tuple(anomalies_in(self._region, rows))
            self._rows = rows
        return self._known


def anomalies_in(region: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Anomaly]:
    """Yields the rows of a board as values; those of another version are left out, and logged."""
    for row in rows:
        try:
            yield anomaly_of(region, row)
        except ValueError as error:
            log.debug("event=anomaly-unreadable %s: %s", region, error)


def audit_questions(appliance: Appliance, timeout_seconds: float) -> list[Question]:
    """Returns the questions about findings to all regions' Redis; nothing is asked yet."""
    return [
        question
        for region in sorted(appliance.regions)
        for question in _of_region(appliance, region, timeout_seconds)
    ]


def _of_region(appliance: Appliance, name: str, timeout_seconds: float) -> Iterator[Question]:
    redis, routes = appliance.region(name).redis_url, appliance.routes_into(name)
    if routes:
        yield kept_question(
            audits_key(name),
            AUDITS_SECONDS,
            lambda: KeptAudits(redis(), timeout_seconds=timeout_seconds),
            lambda kept: last_audits(kept, routes),
        )
    yield kept_question(
        anomalies_key(name),
        NOTED_SECONDS,
        lambda: AnomalyBoard(redis(), name, timeout_seconds=timeout_seconds),
        SeenAnomalies(name).read,
    )
    yield kept_question(
        acknowledgements_key(name),
        NOTED_SECONDS,
        lambda: AcknowledgementStore(redis(), name, timeout_seconds=timeout_seconds),
        AcknowledgementStore.read,
    )


def last_audits(kept: KeptAudits, routes: Sequence[Route]) -> tuple[KeptAudit, ...]:
    """Returns the last audits of each route, the newest first. Raises as KeptAudits does."""
    return tuple(audit for route in routes for audit in kept.of(route, AUDITS_MAX))


def audit_fields(appliance: Appliance) -> Callable[[Answers, float], dict[str, object]]:
    """Returns the builder of the fields `audits`, `anomalies` and `acknowledgements`."""
    regions = sorted(appliance.regions)

    def fields(answers: Answers, _: float) -> dict[str, object]:
        audits = [answers.value(audits_key(region)) for region in regions]
        anomalies = [answers.value(anomalies_key(region)) for region in regions]
        seen = [answers.value(acknowledgements_key(region)) for region in regions]
        return {
            "audits": _joined(audits),
            "anomalies": _joined(anomalies),
            "acknowledgements": _joined(seen) or (),
        }

    return fields


def _joined(found: Sequence[Sequence[KeptAudit | Anomaly | Acknowledgement] | None]) -> Any:
    """Returns the values of all regions that have answered; None when none has."""
    known = [each for each in found if each is not None]
    return tuple(value for some in known for value in some) if known else None
