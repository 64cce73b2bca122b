"""Kept verdicts of audits: counts, the worst of them, and the way to Redis between versions."""

import pytest

from replicator.audit.kept_audits import KeptAudit, counts_of
from replicator.audit.tally import Tally
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
        Row("west>east", "orders", 1, Tally(missing=3)),
        Row("west>east", "orders", 2, Tally(surplus=1)),
        Row("west>east", "orders", 3),
    ]
    assert list(counts_of(rows).items()) == [("missing", 1), ("surplus", 1), ("equal", 2)]
    assert counts_of([]) == {}


def test_the_worst_verdict_counts_and_without_rows_there_is_none():
    assert AUDIT.worst is Verdict.SURPLUS
    assert KeptAudit.from_json(AUDIT.to_json().replace('"surplus":1,', "")).worst is Verdict.EQUAL
    assert KeptAudit.from_json(AUDIT.to_json().replace('"surplus":1,"equal":7', "")).worst is None


def test_audits_are_read_as_they_were_kept_and_later_fields_left_out():
    assert KeptAudit.from_json(AUDIT.to_json()) == AUDIT
    assert KeptAudit.from_json(AUDIT.to_json()[:-1] + ',"colour":"red"}') == AUDIT


@pytest.mark.parametrize("text", ["7", "{}", "no json"])
def test_another_form_is_refused(text):
    with pytest.raises(ValueError, match="validation error"):
        KeptAudit.from_json(text)
