"""Answers of servers as facts. Real servers: tests/live/test_doctor.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import TableRange
from replicator.kafka.client.custody import Custody
from tui.facts.exactness import Diagnosis, DiagnosisKind, Verdict
from tui.facts.watch.exactness_probe import answered, coordinates, loader_ahead_seconds

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

    assert answered("one", lambda: told("away")) == ([DIAGNOSIS], "one: away")
    assert answered("one", lambda: told("one is away")) == ([DIAGNOSIS], "one is away")


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
