"""`sluice failover show` and `list`: saved plans are shown without contacting servers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from replicator.groups.failover.plan_files import PlanFiles
from replicator.groups.planning.failover_plan import Completeness, GroupPlan
from tests.replicator.groups.planning.empty_plan import EMPTY
from tui.commands.exit_codes import ExitCode
from tui.program import run

CONFIG = """\
routes = ["west>east", "east>east", "west>west"]
[replicator]
state_dir = "state"
"""
REGION = """\
[regions.{name}]
redis = "redis://{name}.example:1"
regional.bootstrap = ["regional.{name}.example:1"]
aggregate.bootstrap = ["aggregate.{name}.example:1"]
"""
PLAN = replace(
    EMPTY,
    expires_at_ms=4_000_000_000_000,
    completeness=Completeness(0, 0, 0),
    groups=(GroupPlan("orders", "west", ()),),
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "appliance.toml"
    path.write_text(CONFIG + "".join(REGION.format(name=name) for name in ("west", "east")))
    return path


@pytest.fixture
def saved(config: Path) -> Path:
    """Path of a saved plan; beside it is a broken one, p2."""
    path = PlanFiles(config.parent / "state" / "plans").save(PLAN)
    path.with_name("p2.json").write_text("{")
    return path


def test_a_saved_plan_is_shown_to_a_second_reader_with_the_next_command_as_it_has_to_be_typed(
    config: Path,
    saved: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run(["failover", "show", "p1", "--config", str(config)]) == ExitCode.DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "CAN BE APPLIED"
    assert lines[-1] == f"  sluice failover apply p1 --config {config} --confirm west:east"
    monkeypatch.setenv("SLUICE_CONFIG", str(config))
    assert run(["failover", "show", "p1"]) == ExitCode.DONE
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "  sluice failover apply p1 --confirm west:east"
    assert run(["failover", "show", "nosuch"]) == ExitCode.USAGE


def test_saved_plans_are_listed_and_broken_ones_too(
    config: Path, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["failover", "list", "--config", str(config)]) == ExitCode.DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:4] == ["p1", "failover", "west:east", "1"] and "VALID" in lines[1]
    assert lines[2].startswith("p2") and "BROKEN" in lines[2] and "not the text" in lines[2]


def test_programs_tell_broken_plans_by_one_field(
    config: Path, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["failover", "list", "--config", str(config), "-o", "json"]) == ExitCode.DONE
    found = json.loads(capsys.readouterr().out)
    whole, broken = found["plans"]
    assert (whole["plan_id"], whole["broken"], whole["positions"]) == ("p1", None, [])
    assert broken["plan_id"] == "p2" and broken["broken"]
    assert found["schema_version"] == 2
