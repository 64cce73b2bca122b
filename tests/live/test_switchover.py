"""`sluice switchover`: groups move while both regions run, once all they need has arrived."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from tests.live.relocating import EAST_RECORDS, PARTITIONS, WEST_RECORDS, Relocating, make_topic
from tui.commands.exit_codes import ExitCode
from tui.program import run

PATIENCE_SECONDS = 60.0
TIMEOUT = ("--timeout", "10")
WHOLE = WEST_RECORDS + EAST_RECORDS


@pytest.fixture
def copied(
    regional: KafkaCluster, aggregate: KafkaCluster, redis: RedisServer, tmp_path: Path
) -> Iterator[Relocating]:
    """A group that has read all of west, and up-to-date copies."""
    made = Relocating(regional, aggregate, redis, tmp_path)
    for cluster in (regional, aggregate):
        make_topic(cluster, made.topic)
    made.mirror()
    made.commit(made.west, dict.fromkeys(range(PARTITIONS), WEST_RECORDS))
    with made.copied():
        yield made


class Sluice:
    """Runs `sluice switchover` for two regions."""

    def __init__(self, regions: Relocating, capsys: pytest.CaptureFixture[str]) -> None:
        self._regions = regions
        self._capsys = capsys

    def plan(self, *more: str, group: str | None = None) -> tuple[int, dict[str, Any], str]:
        regions = self._regions
        way = ("--from", regions.west, "--to", regions.east, "--group", group or regions.group)
        return self._json("plan", *way, "--reason", "drill", *more)

    def apply(self, plan: dict[str, Any]) -> tuple[int, dict[str, Any], str]:
        confirm = f"{self._regions.west}:{self._regions.east}"
        return self._json("apply", plan["id"], "--confirm", confirm)

    def verify(self, plan: dict[str, Any]) -> int:
        return self._json("verify", plan["id"])[0]

    def _json(self, verb: str, *arguments: str) -> tuple[int, dict[str, Any], str]:
        self._capsys.readouterr()
        config = ("--config", str(self._regions.config))
        code = run(["switchover", verb, *config, *TIMEOUT, "-o", "json", *arguments])
        said = self._capsys.readouterr()
        return code, json.loads(said.out) if said.out else {}, said.err


@pytest.fixture
def sluice(copied: Relocating, capsys: pytest.CaptureFixture[str]) -> Sluice:
    return Sluice(copied, capsys)


def arrival(plan: dict[str, Any]) -> dict[str, Any]:
    first = plan["checks"][0]
    assert isinstance(first, dict) and first["name"] == "arrival"
    return first


@pytest.mark.core
def test_a_group_that_has_stopped_goes_on_where_it_was_and_reads_nothing_again(
    copied: Relocating, sluice: Sluice
) -> None:
    # The commit comes right before the plan, which has to wait for its copy.
    copied.commit(copied.west, {0: 33})
    code, plan, _ = sluice.plan()
    assert (code, plan["is_planned"]) == (ExitCode.DONE, True)
    assert arrival(plan)["level"] == "PASS"
    moves = plan["groups"][0]["moves"]
    assert [(move["resume"], move["basis"]) for move in moves] == [(33, "exact"), (40, "exact")]
    assert [move["read_again"] for move in moves] == [{"records": 0, "bound": "exact"}] * 2
    assert sluice.apply(plan)[0] == ExitCode.DONE
    assert copied.committed(copied.east) == {0: 33, 1: 40}
    assert sluice.verify(plan) == ExitCode.DONE


def test_partitions_on_which_a_group_has_no_commit_are_awaited_by_their_ledger(
    copied: Relocating, sluice: Sluice
) -> None:
    partly = f"partly-{copied.mark}"
    copied.commit(copied.west, {0: 33}, partly)
    copied.produce(copied.east, 1)
    code, plan, _ = sluice.plan("--wait-seconds", "0.5", group=partly)
    assert code == ExitCode.REFUSED
    assert f"still missing in {copied.east}: 2 records of {copied.east}" in arrival(plan)["text"]
    copied.passed(copied.east, copied.east, WHOLE + 1, WHOLE + 1)
    code, plan, _ = sluice.plan(group=partly)
    assert (code, arrival(plan)["level"]) == (ExitCode.DONE, "PASS")
    moves = plan["groups"][0]["moves"]
    assert [(it["partition"], it["case"]) for it in moves] == [(0, "moves"), (1, "uncommitted")]


def test_a_group_that_still_runs_when_the_time_is_over_is_named_and_not_moved(
    copied: Relocating, sluice: Sluice
) -> None:
    with copied.member(copied.west):
        code, plan, err = sluice.plan("--wait-seconds", "0.5")
    assert f"stopping in {copied.west}: members: {copied.group}" in err
    assert "still with members" in arrival(plan)["text"]
    assert code == ExitCode.REFUSED
    blocks = {check["name"] for check in plan["checks"] if check["level"] == "BLOCK"}
    assert blocks == {"arrival", "source activity"}
    assert sluice.apply(plan)[0] == ExitCode.REFUSED


def test_a_group_that_is_just_stopping_is_waited_for(copied: Relocating, sluice: Sluice) -> None:
    ended: list[tuple[int, dict[str, Any], str]] = []
    waiting = threading.Thread(target=lambda: ended.append(sluice.plan("--wait-seconds", "60")))
    with copied.member(copied.west):
        waiting.start()
        stopping = f"stopping in {copied.west}: members: {copied.group}"
        assert until(lambda: stopping in sys.stderr.getvalue(), PATIENCE_SECONDS)
        assert not ended
    waiting.join(PATIENCE_SECONDS)
    ((code, plan, _),) = ended
    assert (code, arrival(plan)["level"]) == (ExitCode.DONE, "PASS")


def test_a_source_that_does_not_answer_needs_a_failover(copied: Relocating, sluice: Sluice) -> None:
    copied.configure(copied.west)
    code, plan, _ = sluice.plan("--timeout", "2")
    assert code == ExitCode.REFUSED
    assert "source activity" in {c["name"] for c in plan["checks"] if c["level"] == "BLOCK"}


def test_a_group_that_read_on_since_makes_the_plan_stale(
    copied: Relocating, sluice: Sluice
) -> None:
    copied.commit(copied.west, {0: 30})
    code, plan, _ = sluice.plan()
    assert code == ExitCode.DONE
    copied.commit(copied.west, {0: 31})
    copied.until_copied()
    code, _, err = sluice.apply(plan)
    assert code == ExitCode.PLAN_STALE and "read on in" in err
    assert copied.committed(copied.east) == {}


def test_records_that_do_not_arrive_in_time_block_the_plan_and_are_counted(
    copied: Relocating, sluice: Sluice
) -> None:
    copied.produce(copied.west, 3)
    code, plan, err = sluice.plan("--wait-seconds", "0.5")
    assert code == ExitCode.REFUSED
    assert arrival(plan)["level"] == "BLOCK"
    missing = f"{3 * PARTITIONS} records of {copied.west}"
    assert missing in arrival(plan)["text"] and missing in err


def test_records_on_their_way_are_awaited_and_missing_ones_are_shown(
    copied: Relocating, sluice: Sluice
) -> None:
    copied.produce(copied.west, 3)
    copied.produce(copied.east, 3)
    ended: list[tuple[int, dict[str, Any], str]] = []
    waiting = threading.Thread(target=lambda: ended.append(sluice.plan("--wait-seconds", "60")))
    waiting.start()
    assert until(lambda: "missing: 6 records" in sys.stderr.getvalue(), PATIENCE_SECONDS)
    assert not ended
    copied.passed(copied.west, copied.east, WEST_RECORDS + 3, WHOLE + 3)
    copied.passed(copied.east, copied.east, WHOLE + 3, WHOLE + 3)
    waiting.join(PATIENCE_SECONDS)
    ((code, plan, err),) = ended
    assert (code, arrival(plan)["level"]) == (ExitCode.DONE, "PASS")
    assert f"arriving in {copied.east}: missing: " in err


def test_without_time_to_wait_one_look_is_taken(copied: Relocating, sluice: Sluice) -> None:
    code, plan, _ = sluice.plan("--wait-seconds", "0")
    # The copies may be older or newer than the check that the group has stopped.
    assert code in (ExitCode.DONE, ExitCode.REFUSED)
    assert arrival(plan)["level"] in ("PASS", "BLOCK")
