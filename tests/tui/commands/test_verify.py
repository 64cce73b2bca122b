"""`sluice verify` without servers: mistakes, exit codes and output."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from aggregator.verifier.check import CheckResult, OwnerRow
from aggregator.verifier.cluster_judge import Judgement
from aggregator.verifier.finding import Finding, Kind, Weight
from aggregator.verifier.owners import Subject
from aggregator.verifier.row_check import RowCount
from replicator.config.cluster_name import ClusterName
from replicator.kafka.protocol.commit_record import Commit
from tests.replicator.config.test_feed_contradictions import feed
from tests.replicator.config.test_topology import SOUND
from tui.commands.exit_codes import ExitCode
from tui.commands.verify import check_text, check_values, exit_code
from tui.program import run

REFERENCE = str(Path(__file__).parents[3] / "deploy" / "appliance.toml")
LONELY = """
routes = ["west>west"]
[regions.west]
redis = "redis://127.0.0.1:1"
regional.bootstrap = ["127.0.0.1:2"]
aggregate.bootstrap = ["127.0.0.1:3"]
[regions.east]
redis = "redis://127.0.0.1:4"
regional.bootstrap = ["127.0.0.1:5"]
aggregate.bootstrap = ["127.0.0.1:6"]
"""
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


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["check", "--config", REFERENCE, "--region", "nowhere"], "no region 'nowhere'; known: "),
        (["check", "--config", REFERENCE, "--region", "west", "--since", "soon"], "'soon' is"),
        (["check", "--config", REFERENCE], "--region"),
        (["--config", REFERENCE], "--region"),
        (["--config", REFERENCE, "--region", "nowhere"], "no region 'nowhere'; known: "),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(
    arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", *arguments]) == ExitCode.USAGE
    said = capsys.readouterr()
    assert what in said.err
    assert said.out == ""


@pytest.mark.parametrize("command", [["check"], []])
def test_a_region_without_feeds_and_routes_is_a_mistake(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "appliance.toml"
    config.write_text(LONELY)
    arguments = [*command, "--config", str(config), "--region", "east"]
    assert run(["verify", *arguments]) == ExitCode.USAGE
    assert "no feeds and no routes into it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("judgements", "problems", "code"),
    [
        ((), (), ExitCode.DONE),
        ((LOSS,), (), ExitCode.DONE),
        ((LOSS, UNKNOWN), (), ExitCode.PARTLY_DONE),
        ((UNKNOWN,), ("away",), ExitCode.UNREACHABLE),
        ((UNKNOWN, ANOMALY), ("away",), ExitCode.DIFFERENT),
    ],
)
def test_it_ends_with_the_worst_that_was_found(judgements, problems, code) -> None:
    assert exit_code(CheckResult("east", 0, (), judgements, problems)) is code


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ((), ExitCode.DONE),
        ((COUNT,), ExitCode.DONE),
        ((COUNT, UNASKED), ExitCode.PARTLY_DONE),
        ((DIFFERENT, UNASKED), ExitCode.DIFFERENT),
        ((replace(COUNT, surplus=1),), ExitCode.DIFFERENT),
        ((replace(COUNT, changed=1),), ExitCode.DIFFERENT),
    ],
)
def test_rows_that_differ_are_an_anomaly(counts, code) -> None:
    assert exit_code(CheckResult("east", 0, (), (), (), counts)) is code


def test_what_could_not_be_read_is_unknown_and_said_once(tmp_path: Path, capsys) -> None:
    config = tmp_path / "appliance.toml"
    config.write_text(LONELY)
    arguments = ["check", "--config", str(config), "--region", "west", "--timeout", "0.5"]
    assert run(["verify", *arguments]) == ExitCode.UNREACHABLE
    said = capsys.readouterr()
    (row,) = [line for line in said.out.splitlines() if "route west>west" in line]
    assert row.split()[-5:] == ["?"] * 5
    assert said.err == ""
    assert said.out.count("127.0.0.1:3 (") == 1


def test_a_line_for_each_feed_and_route_and_below_it_both_entries_of_each_finding(
    assert_snapshot,
) -> None:
    assert_snapshot(check_text(FOUND), "verify")


def test_a_clean_history_is_a_table_alone(assert_snapshot) -> None:
    assert_snapshot(check_text(CheckResult("east", 0, ROWS[:1], ())), "verify_clean")


def test_rows_have_a_line_for_each_table_and_replica(assert_snapshot) -> None:
    counted = CheckResult("east", 0, ROWS[:1], (), (), (COUNT, DIFFERENT, UNASKED))
    assert_snapshot(check_text(counted), "verify_rows")
    (_, table, other) = check_values(counted)["tables"]
    assert (table["expected"], table["found"], table["missing"]) == (900, 899, 2)
    assert other["not_compared"] == ["the table has no coordinate columns"]
    assert "no rows to compare" in check_text(replace(counted, row_counts=()))


def test_values_are_for_programs() -> None:
    values = json.loads(json.dumps(check_values(replace(FOUND, judgements=(ANOMALY,)))))
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


@pytest.mark.parametrize(
    ("arguments", "text"),
    [(["--since", "often"], "often"), ([], "feed flights has no upsert tables")],
)
def test_upsert_verify_refuses_what_it_cannot_compare(tmp_path, capsys, arguments, text):
    path = tmp_path / "appliance.toml"
    path.write_text(SOUND + feed())
    command = ["upsert", "verify", "--feed", "flights", "--config", str(path), *arguments]
    assert run(command) == ExitCode.USAGE
    assert text in capsys.readouterr().err
