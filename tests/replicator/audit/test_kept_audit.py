"""Kept verdicts of audits: counts, the worst of them, and the way to Redis between versions."""

from dataclasses import replace

import pytest

from replicator.audit.kept_audit import ROWS_MAX, KeptAudit, counts_of, kept_rows, readable
from replicator.audit.record_counts import RecordCounts
from replicator.audit.verdict import Row, Verdict

AUDIT = KeptAudit(
    route="west>east",
    at_ms=3000,
    since_ms=1000,
    until_ms=2000,
    by="count",
    who="ann@ops",
    counts={"surplus": 1, "equal": 7},
    problems=("east aggregate: no answer",),
)


def test_partitions_are_counted_by_verdict_the_worst_first():
    rows = [
        Row("west>east", "orders", 0),
        Row("west>east", "orders", 1, RecordCounts(missing=3)),
        Row("west>east", "orders", 2, RecordCounts(surplus=1)),
        Row("west>east", "orders", 3),
    ]
    assert list(counts_of(rows).items()) == [("missing", 1), ("surplus", 1), ("equal", 2)]
    assert counts_of([]) == {}


def test_the_worst_verdict_counts_and_without_rows_there_is_none():
    assert AUDIT.worst is Verdict.SURPLUS
    assert KeptAudit.from_json(AUDIT.to_json().replace('"surplus":1,', "")).worst is Verdict.EQUAL
    assert KeptAudit.from_json(AUDIT.to_json().replace('"surplus":1,"equal":7', "")).worst is None


def test_only_rows_that_are_not_clean_are_kept_the_worst_first():
    rows = [
        Row("west>east", "orders", 0, RecordCounts(behind=9)),
        Row("west>east", "orders", 1, RecordCounts(doubts={"gone": 2})),
        Row("west>east", "orders", 2, RecordCounts(missing=3, examples=("a", "b", "c"))),
        Row("west>east", "orders", 3),
    ]
    missing, doubted = kept_rows(rows)
    assert (missing.partition, missing.verdict, missing.missing) == (2, "missing", 3)
    assert missing.examples == ("a", "b")
    assert (doubted.verdict, doubted.doubts) == ("incomplete", ("2 gone",))
    assert len(kept_rows([rows[2]] * 1000)) == ROWS_MAX


@pytest.mark.parametrize(
    ("counts", "is_clean"),
    [
        ({"equal": 3}, True),
        ({"behind": 1, "equal": 3}, True),
        ({"incomplete": 1, "equal": 3}, False),
        ({"missing": 1}, False),
        ({}, False),
    ],
)
def test_an_audit_is_clean_when_all_that_could_be_compared_is_equal(counts, is_clean):
    assert replace(AUDIT, counts=counts).is_clean is is_clean


def test_audits_of_a_version_without_rows_are_read_and_rows_survive():
    assert '"rows":[]' in AUDIT.to_json()
    assert KeptAudit.from_json(AUDIT.to_json().replace(',"rows":[]', "")) == AUDIT
    rows = kept_rows([Row("west>east", "orders", 1, RecordCounts(surplus=3))])
    assert KeptAudit.from_json(replace(AUDIT, rows=rows).to_json()).rows == rows


def test_audits_are_read_as_they_were_kept_and_later_fields_left_out():
    assert KeptAudit.from_json(AUDIT.to_json()) == AUDIT
    assert KeptAudit.from_json(AUDIT.to_json()[:-1] + ',"colour":"red"}') == AUDIT


@pytest.mark.parametrize("text", ["7", "{}", "no json"])
def test_another_form_is_refused(text):
    with pytest.raises(ValueError, match="validation error"):
        KeptAudit.from_json(text)


@pytest.mark.parametrize("text", ["{", "[]", '{"route": "west>east"}', b"\xff"])
def test_a_verdict_that_cannot_be_read_hides_no_others(text):
    assert list(readable([text, AUDIT.to_json(), text])) == [AUDIT]
