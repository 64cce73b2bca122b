"""Output of a check of committed entries."""

import json
from dataclasses import replace

from aggregator.verifier.check import CheckResult, OwnerRow
from aggregator.verifier.cluster_judge import Judgement
from aggregator.verifier.finding import Finding, Kind, Weight
from aggregator.verifier.owners import Subject
from aggregator.verifier.row_check import RowCount
from replicator.config.cluster_name import ClusterName
from replicator.kafka.protocol.commit_record import Commit
from tui.commands.views.verify_view import as_text, as_values

WEST, EAST = ClusterName.regional("west"), ClusterName.aggregate("east")
SUBJECT = Subject(WEST, "feed flights", "departures", 3)
BEFORE = Commit(10, '{"v":1,"count":10}', 60_000)
AFTER = Commit(12, '{"v":1,"count":11}', 61_000)
GAP = Finding(Kind.GAP, "fewer records are accounted for", begin=10, end=12)
OVERLAP = Finding(Kind.OVERLAP, "shares offsets", begin=5, end=6, table="flights")
UNSEEN = Finding(Kind.UNSEEN, "no entry before it was seen", Weight.UNKNOWN)
ACCEPTED = Finding(Kind.LOSS, "an operator accepted a loss: retention", Weight.ACCEPTED)
ANOMALY = Judgement(SUBJECT, 61_000, BEFORE, AFTER, (GAP, OVERLAP))
UNKNOWN = Judgement(SUBJECT._replace(partition=4), 62_000, None, AFTER, (UNSEEN,))
LOSS = Judgement(SUBJECT._replace(partition=5), 63_000, BEFORE, None, (ACCEPTED,))
ROWS = (
    OwnerRow(EAST, "route west>east", 12, 480, {}),
    OwnerRow(WEST, "feed flights", 6, 77, {Weight.ANOMALY: 2, Weight.UNKNOWN: 2}),
)
FOUND = CheckResult("east", 0, ROWS, (ANOMALY, UNKNOWN, UNKNOWN, LOSS), ("north is away",))


def test_a_line_for_each_feed_and_route_and_below_it_both_entries_of_each_finding(
    assert_snapshot,
) -> None:
    assert_snapshot(as_text(FOUND), "verify")


def test_a_clean_history_is_a_table_alone(assert_snapshot) -> None:
    assert_snapshot(as_text(CheckResult("east", 0, ROWS[:1], ())), "verify_clean")


COUNT = RowCount(WEST, "flights", "departures", "departures", "ch-1:9000", expected=900, found=900)
DIFFERENT = replace(
    COUNT,
    replica="ch-2:9000",
    found=899,
    missing=2,
    doubled=1,
    examples=["missing: partition 3, offsets 5..6", "doubled: partition 3, offsets 9"],
)
UNASKED = replace(COUNT, table="other", found=0, doubts=["the table has no coordinate columns"])


def test_rows_have_a_line_for_each_table_and_replica(assert_snapshot) -> None:
    counted = CheckResult("east", 0, ROWS[:1], (), (), (COUNT, DIFFERENT, UNASKED))
    assert_snapshot(as_text(counted), "verify_rows")
    (_, table, other) = as_values(counted)["tables"]
    assert (table["expected"], table["found"], table["missing"]) == (900, 899, 2)
    assert other["not_compared"] == ["the table has no coordinate columns"]
    assert "no rows to compare" in as_text(replace(counted, row_counts=()))


def test_values_are_for_programs() -> None:
    values = json.loads(json.dumps(as_values(replace(FOUND, judgements=(ANOMALY,)))))
    assert (values["schema_version"], values["region"]) == (1, "east")
    assert values["since"] == "1970-01-01T00:00:00Z"
    assert values["problems"] == ["north is away"]
    assert values["tables"] is None
    assert values["rows"][1] == {
        "cluster": "west regional",
        "of": "feed flights",
        "partitions": 6,
        "entries": 77,
        "anomaly": 2,
        "accepted": 0,
        "unknown": 2,
    }
    (finding,) = values["findings"]
    assert (finding["topic"], finding["partition"]) == ("departures", 3)
    assert [each["kind"] for each in finding["findings"]] == ["gap", "overlap"]
    assert finding["before"] == {"offset": 10, "at_ms": 60_000, "metadata": '{"v":1,"count":10}'}
