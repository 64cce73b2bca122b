"""The list of saved plans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replicator.groups.failover.plan_files import PlanFiles
from tests.tui.actions.test_plan_making import PLAN, config
from tui.cli.exit_codes import ExitCode
from tui.program import run

__all__ = ["config"]


def test_saved_plans_are_listed_and_broken_ones_too(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = PlanFiles(config.parent / "state" / "plans").save(PLAN)
    path.with_name("p2.json").write_text("{")
    assert run(["failover", "list", "--config", str(config)]) == ExitCode.DONE
    lines = capsys.readouterr().out.splitlines()
    assert "failover west:east" in lines[1] and "valid for another" in lines[1]
    assert lines[2].startswith("p2") and "broken" in lines[2]


def test_programs_tell_broken_plans_by_one_field(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = PlanFiles(config.parent / "state" / "plans").save(PLAN)
    path.with_name("p2.json").write_text("{")
    assert run(["failover", "list", "--config", str(config), "-o", "json"]) == ExitCode.DONE
    whole, broken = json.loads(capsys.readouterr().out)
    assert whole["broken"] is None
    assert broken.keys() == {"id", "broken"} and broken["broken"]
