"""`sluice audit` without servers: mistakes, servers that refuse connections, and output."""

import json
from pathlib import Path

import pytest

from replicator.audit.audit import AuditRequest, AuditResult
from replicator.audit.partition_audit import Depth
from replicator.audit.record_counts import EXPIRED, GONE, RecordCounts
from replicator.audit.verdict import Row, by_topic
from replicator.audit.window import Window
from tests.addresses import refusing
from tui.commands.audit import DEPTHS, audit_text, audit_values, exit_code
from tui.commands.exit_codes import ExitCode
from tui.program import run

REFERENCE = str(Path(__file__).parents[3] / "deploy" / "appliance.toml")
EQUAL = Row("west>east", "orders", 0, RecordCounts(source_records=1200, target_records=1200))
MISSING = Row(
    "west>east",
    "orders",
    1,
    RecordCounts(
        source_records=900,
        target_records=897,
        missing=3,
        foreign=2,
        examples=("missing: source offsets 5..7",),
    ),
)
BEHIND = Row(
    "west>west", "orders", 0, RecordCounts(source_records=9, behind=9, notes=("is parked",))
)
INCOMPLETE = Row("west>west", "old", 0, RecordCounts(doubts={EXPIRED: 40}, held_back=3))
PROBLEMS = ("west regional: no broker answers",)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--route", "west>nowhere"], "no route 'west>nowhere'; known: "),
        (["--region", "nowhere"], "no region 'nowhere'; known: "),
        (["--region", "west", "--route", "west>east"], "route west>east does not lead into"),
        (["--since", "soon"], "'soon' is neither a length of time"),
        (["--since", "2026-11-22T03:00:00"], "needs a zone"),
        (["--until", "1m"], "--until needs --since"),
        (["--since", "1m", "--until", "2m"], "the window is empty"),
        (["--by", "colour"], "'colour' is not one of"),
        (["--timeout", "0"], "--timeout"),
        (["--progress", "loud"], "'loud' is not one of"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(
    arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "--config", REFERENCE, *arguments]) == ExitCode.USAGE
    said = capsys.readouterr()
    assert what in said.err
    assert said.out == ""


def test_progress_is_told_as_json_lines_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "appliance.toml"
    config.write_text(
        f'[regions.west]\nredis = "redis://{refusing()}"\n'
        f'regional.bootstrap = ["{refusing()}"]\naggregate.bootstrap = ["{refusing()}"]\n'
    )
    asked = ["audit", "--config", str(config), "--timeout", "1", "--no-keep"]
    assert run([*asked, "--progress", "json"]) == ExitCode.UNREACHABLE
    step, *problems = capsys.readouterr().err.splitlines()
    assert (json.loads(step)["stage"], json.loads(step)["left"]) == ("audit", 0)
    assert all(line.startswith("sluice: ") for line in problems)


def test_the_depths_on_the_command_line_are_those_there_are() -> None:
    assert tuple(DEPTHS) == tuple(depth.value for depth in Depth)


@pytest.mark.parametrize(
    ("rows", "problems", "code"),
    [
        ((EQUAL, BEHIND), (), ExitCode.DONE),
        ((), (), ExitCode.DONE),
        ((EQUAL, INCOMPLETE), (), ExitCode.PARTLY_DONE),
        ((EQUAL, INCOMPLETE), PROBLEMS, ExitCode.UNREACHABLE),
        ((EQUAL, INCOMPLETE, MISSING), PROBLEMS, ExitCode.DIFFERENT),
        ((Row("a>b", "t", 0, RecordCounts(surplus=1)),), (), ExitCode.DIFFERENT),
        ((Row("a>b", "t", 0, RecordCounts(changed=1)),), (), ExitCode.DIFFERENT),
    ],
)
def test_it_ends_with_the_worst_that_was_found(rows, problems, code) -> None:
    assert exit_code(AuditResult(rows, problems)) is code


def asked(depth: Depth = Depth.COUNT) -> AuditRequest:
    return AuditRequest(
        routes=(), topics=frozenset(), window=Window(0, 600_000), depth=depth, now_ms=700_000
    )


def test_a_line_for_each_topic_and_below_it_what_differs_and_what_is_open(assert_snapshot) -> None:
    found = AuditResult((EQUAL, MISSING, BEHIND, INCOMPLETE), PROBLEMS)
    assert_snapshot(audit_text(asked(), found, by_topic(found.rows)), "audit_by_topic")


def test_partitions_have_lines_of_their_own_and_bytes_columns_of_theirs(assert_snapshot) -> None:
    read = Row(
        "a>b", "t", 7, RecordCounts(source_records=2, source_bytes=20, target_bytes=20, changed=1)
    )
    text = audit_text(asked(Depth.BYTES), AuditResult((read,)), [read])
    assert_snapshot(text, "audit_by_bytes")


def test_an_audit_of_nothing_has_no_table() -> None:
    assert "nothing was audited" in audit_text(asked(), AuditResult(()), [])


def test_values_are_for_programs_and_unknown_ones_are_null() -> None:
    found = AuditResult((MISSING,), PROBLEMS)
    values = json.loads(json.dumps(audit_values(asked(), found, found.rows)))
    assert values["schema_version"] == 1
    assert (values["since"], values["until"]) == ("1970-01-01T00:00:00Z", "1970-01-01T00:10:00Z")
    assert (values["by"], values["problems"]) == ("count", list(PROBLEMS))
    (row,) = values["rows"]
    assert (row["route"], row["partition"], row["verdict"]) == ("west>east", 1, "missing")
    assert (row["missing"], row["source_bytes"], row["changed"]) == (3, None, None)
    assert row["examples"] == ["missing: source offsets 5..7"]
    lossy = AuditResult((Row("a>b", "t", 0, RecordCounts(doubts={GONE: 4})),))
    (row,) = audit_values(asked(Depth.BYTES), lossy, lossy.rows)["rows"]
    assert (row["not_compared"], row["source_bytes"]) == ({GONE: 4}, 0)
