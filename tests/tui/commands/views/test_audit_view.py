"""Output of an audit."""

import json

from replicator.audit.audit import AuditRequest, AuditResult
from replicator.audit.partition_audit import Depth
from replicator.audit.tally import EXPIRED, GONE, Tally
from replicator.audit.verdict import Row, by_topic
from replicator.audit.window import Window
from tui.commands.views.audit_view import as_text, as_values

EQUAL = Row("west>east", "orders", 0, Tally(source_records=1200, target_records=1200))
MISSING = Row(
    "west>east",
    "orders",
    1,
    Tally(
        source_records=900,
        target_records=897,
        missing=3,
        foreign=2,
        examples=("missing: source offsets 5..7",),
    ),
)
BEHIND = Row("west>west", "orders", 0, Tally(source_records=9, behind=9, notes=("is parked",)))
INCOMPLETE = Row("west>west", "old", 0, Tally(doubts={EXPIRED: 40}, held_back=3))
PROBLEMS = ("west regional: no broker answers",)


def asked(depth: Depth = Depth.COUNT) -> AuditRequest:
    return AuditRequest(
        routes=(), topics=frozenset(), window=Window(0, 600_000), depth=depth, now_ms=700_000
    )


def test_a_line_for_each_topic_and_below_it_what_differs_and_what_is_open(assert_snapshot) -> None:
    found = AuditResult((EQUAL, MISSING, BEHIND, INCOMPLETE), PROBLEMS)
    assert_snapshot(as_text(asked(), found, by_topic(found.rows)), "audit_by_topic")


def test_partitions_have_lines_of_their_own_and_bytes_columns_of_theirs(assert_snapshot) -> None:
    read = Row("a>b", "t", 7, Tally(source_records=2, source_bytes=20, target_bytes=20, changed=1))
    text = as_text(asked(Depth.BYTES), AuditResult((read,)), [read])
    assert_snapshot(text, "audit_by_bytes")


def test_an_audit_of_nothing_has_no_table() -> None:
    assert "nothing was audited" in as_text(asked(), AuditResult(()), [])


def test_values_are_for_programs_and_unknown_ones_are_null() -> None:
    found = AuditResult((MISSING,), PROBLEMS)
    values = json.loads(json.dumps(as_values(asked(), found, found.rows)))
    assert values["schema_version"] == 1
    assert (values["since"], values["until"]) == ("1970-01-01T00:00:00Z", "1970-01-01T00:10:00Z")
    assert (values["by"], values["problems"]) == ("count", list(PROBLEMS))
    (row,) = values["rows"]
    assert (row["route"], row["partition"], row["verdict"]) == ("west>east", 1, "missing")
    assert (row["missing"], row["source_bytes"], row["changed"]) == (3, None, None)
    assert row["examples"] == ["missing: source offsets 5..7"]
    lossy = AuditResult((Row("a>b", "t", 0, Tally(doubts={GONE: 4})),))
    (row,) = as_values(asked(Depth.BYTES), lossy, lossy.rows)["rows"]
    assert (row["not_compared"], row["source_bytes"]) == ({GONE: 4}, 0)
