"""`sluice status` without servers: mistakes, and the text of a snapshot."""

from dataclasses import replace
from pathlib import Path

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.topics.topic_plan import Note, State, TopicPlan, TopicStatus
from replicator.notices.condition import Condition
from tests.tui.facts.route_records import ENTRY, FACTS, LOSS, NOW, PARTITION, ROUTE
from tui.commands.exit_codes import ExitCode
from tui.commands.status import status_text
from tui.facts.region_view import DaemonView, RegionView
from tui.facts.route_facts import RouteFacts
from tui.facts.route_summary import route_view
from tui.facts.snapshot import Snapshot
from tui.program import run

REFERENCE = str(Path(__file__).parents[3] / "deploy" / "appliance.toml")
SECOND = TopicPartition("orders", 1)
AWAY = Route("north", "east")
NOTE = Note(State.TARGET_HAS_MORE, "4 partitions, the sources have 2: carried on")


def test_a_route_into_another_region_than_the_one_asked_for_is_wrong_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["status", "--config", REFERENCE, "--region", "west", "--route", "west>east"]
    assert run(arguments) == ExitCode.USAGE
    said = capsys.readouterr()
    assert "route west>east does not lead into region west" in said.err
    assert said.out == ""


@pytest.mark.parametrize("command", [["status"], ["config", "check"]])
@pytest.mark.parametrize("seconds", ["0", "-1"])
def test_no_time_at_all_is_wrong_usage(
    command: list[str], seconds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--config", REFERENCE, "--timeout", seconds]) == ExitCode.USAGE
    assert "--timeout" in capsys.readouterr().err


def example() -> Snapshot:
    entries: dict[TopicPartition, Entry] = {PARTITION: ENTRY, SECOND: ENTRY.park(LOSS)}
    facts = RouteFacts(ROUTE, entries, {PARTITION: 100, SECOND: 70}, FACTS.reports)
    away = RouteFacts(AWAY, None, None, problems=("north regional: no answer",))
    status = TopicStatus("orders", (ROUTE,), (NOTE,))
    plan = TopicPlan((), (status,), (), unknown=(AWAY,))
    waits = Condition(
        kind="source-silent",
        who="replicate east",
        text="no answer",
        since_ms=940_000,
        cluster="north regional",
    )
    paused = Condition(
        kind="paused",
        who="replicate east",
        text="paused by ann@ops: load test",
        since_ms=950_000,
        route="west>east",
        topic="orders",
        partition=1,
    )
    daemons = (
        DaemonView(role="replicate", state="runs", host="repl-c", pid=47),
        DaemonView(role="offsets", state="missing"),
        DaemonView(role="aggregate", state="not configured"),
    )
    return Snapshot(
        taken_at=NOW,
        regions=(RegionView(region="east", daemons=daemons),),
        routes=tuple(route_view(each, plan, NOW) for each in (facts, away)),
        conditions=(waits, paused, replace(paused, kind="parked")),
    )


def test_a_table_of_topics(assert_snapshot) -> None:
    assert_snapshot(status_text(example()), "status_topics")


def test_a_table_of_partitions(assert_snapshot) -> None:
    assert_snapshot(status_text(example(), by_partition=True), "status_partitions")
