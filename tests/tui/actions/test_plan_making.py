"""Progress display of a switchover's wait, and saved plans shown without contacting servers."""

from __future__ import annotations

import io
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from replicator.groups.failover import arrival
from replicator.groups.failover.arrival import Awaited
from replicator.groups.failover.plan_files import PlanFiles
from replicator.groups.planning.plan import Check, Completeness, GroupPlan, Level
from tests.replicator.groups.planning.empty_plan import EMPTY
from tests.tui.actions.test_plan_request import KNOWN, asked
from tui.actions.plan_making import waited
from tui.actions.plan_request import request_of
from tui.cli.exit_codes import ExitCode
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


def test_a_switchover_says_what_it_waits_for_and_returns_the_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Scripted:
        def __init__(self, *_: object) -> None:
            pass

        def steps(self, *_: object, **__: object) -> Generator[Awaited, None, Check]:
            yield Awaited("stopping in west", 1, "members: orders")
            yield Awaited("arriving in east", 6, "missing: 6 records of west")
            return Check("arrival", Level.PASS, "all is there")

    said = io.StringIO()
    monkeypatch.setattr("sys.stderr", said)
    monkeypatch.setattr(arrival, "Arrival", Scripted)
    what = asked(all_groups=True, wait_seconds=5.0)
    request = request_of(what, KNOWN)
    found = waited(None, None, request, what)  # type: ignore[arg-type]
    assert found == Check("arrival", Level.PASS, "all is there")
    assert said.getvalue().splitlines() == [
        "stopping in west: members: orders",
        "arriving in east: missing: 6 records of west",
    ]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "appliance.toml"
    path.write_text(CONFIG + "".join(REGION.format(name=name) for name in ("west", "east")))
    return path


PLAN = replace(
    EMPTY,
    expires_at_ms=4_000_000_000_000,
    completeness=Completeness(0, 0, 0),
    groups=(GroupPlan("orders", "west", ()),),
)


def test_a_saved_plan_is_shown_to_a_second_reader_with_the_next_command_as_it_has_to_be_typed(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    PlanFiles(config.parent / "state" / "plans").save(PLAN)
    assert run(["failover", "show", "p1", "--config", str(config)]) == ExitCode.DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "CAN BE APPLIED"
    assert lines[-1] == f"  sluice failover apply p1 --config {config} --confirm west:east"
    monkeypatch.setenv("SLUICE_CONFIG", str(config))
    assert run(["failover", "show", "p1"]) == ExitCode.DONE
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "  sluice failover apply p1 --confirm west:east"
    assert run(["failover", "show", "nosuch"]) == ExitCode.USAGE
