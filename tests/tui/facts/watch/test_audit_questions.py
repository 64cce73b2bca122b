"""Questions about audits and exactness."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import TableRange
from replicator.config.topology import Route
from replicator.kafka.client.custody import Custody
from replicator.notices.acknowledgement import Acknowledgement
from tests.replicator.audit.test_kept_audit import AUDIT
from tests.tui.facts.test_anomaly import ROW, anomaly
from tests.tui.facts.watch.told import answered, appliance
from tui.facts.exactness import Diagnosis, DiagnosisKind, Verdict
from tui.facts.watch.audit_questions import (
    AUDITS_MAX,
    SeenAnomalies,
    acknowledgements_key,
    anomalies_in,
    anomalies_key,
    audit_fields,
    audit_questions,
    audits_key,
    last_audits,
)
from tui.facts.watch.exactness_probe import answered as answered_by_server
from tui.facts.watch.exactness_probe import coordinates, loader_ahead_seconds
from tui.facts.watch.question import Answers

# --- Audits, anomalies and acknowledgements of all regions, from what their Redis answered.

BOTH = appliance("east", "west")
SEEN = Acknowledgement(key="copies/east", who="ann@ops", why="looking", at_ms=1)


class Board:
    """Board of one region, in memory."""

    def __init__(self, *rows: dict[str, object]) -> None:
        self.rows = list(rows)

    def recent(self) -> list[dict[str, object]]:
        return list(self.rows)


class Kept:
    """Audits of one Redis, in memory."""

    def __init__(self) -> None:
        self.asked: list[tuple[Route, int]] = []

    def of(self, route: Route, count: int):
        self.asked.append((route, count))
        return [AUDIT]


def test_each_region_is_asked_for_its_routes_findings_and_who_has_seen_them():
    keys = [each.key for each in audit_questions(BOTH, 1.0)]
    assert keys == [
        key(region)
        for region in ("east", "west")
        for key in (audits_key, anomalies_key, acknowledgements_key)
    ]


def test_the_last_audits_of_each_route_are_read():
    kept, routes = Kept(), BOTH.routes_into("east")
    assert last_audits(kept, routes) == (AUDIT, AUDIT)
    assert kept.asked == [(route, AUDITS_MAX) for route in routes]


def test_rows_that_have_not_changed_are_not_parsed_again():
    board, seen = Board(ROW), SeenAnomalies("west")
    first = seen.read(board)
    assert first == (anomaly(),)
    assert seen.read(board) is first
    board.rows.insert(0, {**ROW, "partition": 9})
    assert [each.partition for each in seen.read(board)] == [9, 3]


def test_rows_of_another_version_are_left_out():
    assert list(anomalies_in("west", [{"of": "x"}, ROW])) == [anomaly()]


def test_the_findings_of_all_regions_are_joined_and_unknown_before_any_answer():
    build = audit_fields(BOTH)
    assert build(Answers({}), 0.0) == {
        "audits": None,
        "anomalies": None,
        "acknowledgements": (),
    }
    values = {
        audits_key("east"): (AUDIT,),
        anomalies_key("west"): (anomaly(),),
        acknowledgements_key("east"): [SEEN],
        acknowledgements_key("west"): [],
    }
    assert build(answered(values), 0.0) == {
        "audits": (AUDIT,),
        "anomalies": (anomaly(),),
        "acknowledgements": (SEEN,),
    }


# --- Answers of servers as facts. Real servers: tests/live/test_doctor.py.

DIAGNOSIS = Diagnosis(
    Verdict.POSSIBLE, DiagnosisKind.CLOCK, "one", "15 s ahead", "synchronise the clocks"
)


def test_a_dead_letter_names_its_record_among_other_headers():
    headers = [
        ("topic", b"other"),
        ("sluice.topic", "töpic".encode()),
        ("sluice.partition", b"3"),
        ("sluice.offset", b"70"),
    ]
    assert coordinates(headers) == ("töpic", 3, 70)


def test_a_record_that_is_no_dead_letter_names_none():
    assert coordinates([]) is None
    assert coordinates([("sluice.topic", b"t"), ("sluice.partition", None)]) is None


def test_a_server_that_fails_is_named_once_and_what_it_told_before_counts():
    def told(text: str) -> Iterator[Diagnosis]:
        yield DIAGNOSIS
        raise OSError(text)

    assert answered_by_server("one", lambda: told("away")) == ([DIAGNOSIS], "one: away")
    assert answered_by_server("one", lambda: told("one is away")) == ([DIAGNOSIS], "one is away")


@pytest.mark.parametrize(
    ("sealed_ms", "committed_ms", "seconds"),
    [(0, 0, 0.0), (85_000, 99_000, 0.0), (115_000, 0, 15.0), (115_000, 117_000, 17.0)],
)
def test_a_loaders_clock_is_ahead_by_what_its_intent_tells_after_the_brokers_time(
    sealed_ms: int, committed_ms: int, seconds: float
):
    """Intents of earlier versions have no time of their commit, those at rest no table."""
    tables = {"t": TableRange(begin=0, end=9, sealed_at_ms=sealed_ms)} if sealed_ms else {}
    intent = Intent(
        custody=Custody.HELD,
        offset=0,
        reference=0,
        tables=tables,
        transactional_id="sluice.feed.f.0",
        committed_ms=committed_ms,
    )
    assert loader_ahead_seconds(intent, 100_000) == seconds
