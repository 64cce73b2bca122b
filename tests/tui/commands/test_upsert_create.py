"""`sluice upsert create`: what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aggregator.upsert.table_creation import ServerFinding, TableCreation
from tests.replicator.config.test_feed_contradictions import feed
from tests.replicator.config.test_topology import SOUND
from tests.replicator.config.test_upsert_table import table
from tui.commands.exit_codes import ExitCode
from tui.commands.upsert_create import created_text, created_values
from tui.program import run

WHOLE = TableCreation(
    made=[("one", "orders__ticks"), ("one", "orders")],
    present=[("one", "orders__rows"), ("one", "orders__updates"), ("two", "orders__rows")],
    abandoned=[ServerFinding("one", "orders__rows", "has in ZooKeeper a replica r1-0a")],
)
WRONG = TableCreation(
    mistakes=[ServerFinding("two", "orders__rows", "lacks the column at: ALTER TABLE ...")],
    failures=[ServerFinding("three", "", "does not answer")],
)


def test_tables_that_were_made_stand_beside_those_that_were_there() -> None:
    head, first, second, *below = created_text([("shop", "orders", WHOLE)]).splitlines()
    assert head.split() == ["FEED", "TABLE", "SERVER", "MADE", "THERE", "ALREADY"]
    assert "orders__ticks, orders" in first and "orders__rows, orders__updates" in first
    assert second.split() == ["shop", "orders", "two", "-", "orders__rows"]
    assert below == ["", "orders__rows has in ZooKeeper a replica r1-0a"]


def test_differences_and_silent_servers_stand_below() -> None:
    text = created_text([("shop", "orders", WRONG)])
    assert "lacks the column at: ALTER TABLE ..." in text
    assert text.endswith("problem: three: does not answer")
    assert created_text([]) == "no feed has an upsert table"


def test_programs_get_all_of_it() -> None:
    assert created_values([("shop", "orders", WHOLE)])["ok"] is True
    assert created_values([("shop", "orders", WRONG)]) == {
        "ok": False,
        "tables": [
            {
                "feed": "shop",
                "table": "orders",
                "made": [],
                "present": [],
                "mistakes": [
                    {
                        "server": "two",
                        "table": "orders__rows",
                        "text": "lacks the column at: ALTER TABLE ...",
                    }
                ],
                "failures": [{"server": "three", "table": None, "text": "does not answer"}],
                "abandoned": [],
            }
        ],
    }


def test_a_server_that_does_not_answer_is_named_with_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "appliance.toml"
    path.write_text(SOUND + feed(topics='".*"', replica="127.0.0.1:1") + table())
    arguments = ["upsert", "create", "--config", str(path), "--timeout", "1", "-o", "json"]
    assert run(arguments) == ExitCode.UNREACHABLE
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    [failure] = found["tables"][0]["failures"]
    assert "127.0.0.1:1" in failure["server"] and failure["text"]


def test_a_region_without_upsert_tables_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "appliance.toml"
    path.write_text(SOUND + feed())
    assert run(["upsert", "create", "--config", str(path)]) == ExitCode.DONE
    assert capsys.readouterr().out == "no feed has an upsert table\n"
