"""`sluice config check`: prints mistakes with their paths, and a summary if there are none."""

import json
from pathlib import Path

import pytest
import yaml

from replicator.config.topology import load
from tests.replicator.config.test_feed_contradictions import feed
from tests.replicator.config.test_topology import SOUND as TOPOLOGY
from tests.replicator.config.test_upsert_table import table as upsert_table
from tests.tui.commands.test_replicate import CONFIG
from tui.commands.config import check_text, check_values, connections_of, tables_of
from tui.commands.exit_codes import ExitCode
from tui.facts.connections import Connection
from tui.facts.feed_findings import FeedCheck, Finding
from tui.program import run

REFERENCE = Path(__file__).parents[3] / "deploy" / "appliance.toml"
SOUND = (Connection("west regional", "x", ""), Connection("west aggregate", "y", ""))
AWAY = (Connection("west regional", None, "no answer"), Connection("west aggregate", "y", ""))


def test_a_sound_configuration_is_ok_and_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "check", "--config", str(REFERENCE)]) == ExitCode.DONE
    text = capsys.readouterr().out
    assert text.startswith("ok\n")
    assert "routes: west>west, west>east, east>west, east>east" in text


def test_every_mistake_is_printed_with_its_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "appliance.toml"
    path.write_text(REFERENCE.read_text() + "\n[topic]\n[metrics.colour]\n")
    assert run(["config", "check", "--config", str(path)]) == ExitCode.USAGE
    text = capsys.readouterr().out
    assert "topic: unknown key; did you mean 'topics'?" in text
    assert "metrics.colour: unknown key" in text
    assert "2 mistakes" in text


def test_a_type_of_an_upsert_table_that_cannot_be_loaded_is_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "appliance.toml"
    columns = 'columns = { id = "UInt64", x = "Array(JSON)" }'
    path.write_text(TOPOLOGY + feed(topics='".*"') + upsert_table(more=columns))
    assert run(["config", "check", "--config", str(path)]) == ExitCode.USAGE
    text = capsys.readouterr().out
    assert "1 mistake" in text
    assert "feeds.flights.tables.status.columns.x: columns of type JSON" in text


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_programs_read_the_same(
    output: str, read: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(read)
    assert run(["config", "check", "--config", str(REFERENCE), "-o", output]) == ExitCode.DONE
    assert read(capsys.readouterr().out)["regions"] == ["east", "west"]
    (tmp_path / "bad.toml").write_text("colour = 1")
    arguments = ["config", "check", "--config", str(tmp_path / "bad.toml"), "-o", output]
    assert run(arguments) == ExitCode.USAGE
    value = read(capsys.readouterr().out)
    assert value["ok"] is False
    assert {"path": "colour"}.items() <= value["mistakes"][0].items()


def test_the_file_may_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLUICE_CONFIG", str(REFERENCE))
    assert run(["config", "check"]) == ExitCode.DONE
    assert capsys.readouterr().out.startswith("ok\n")


def test_a_configuration_is_summed_up_below_its_connections(assert_snapshot, tmp_path):
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG)
    appliance = load(file)
    assert_snapshot(check_text(appliance), "config")
    assert_snapshot(check_text(appliance, SOUND), "config_connected")
    assert_snapshot(check_text(appliance, AWAY), "config_with_a_problem")
    assert "clusters" not in check_values("f", appliance)
    assert check_values("f", appliance, SOUND)["ok"] is True
    away = check_values("f", appliance, AWAY)
    assert away["ok"] is False
    assert away["clusters"][0] == {
        "cluster": "west regional",
        "cluster_id": None,
        "problem": "no answer",
    }


def test_feeds_are_named(tmp_path):
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG + feed())
    appliance = load(file)
    assert check_text(appliance).splitlines()[-1] == "feeds: flights"
    assert check_values("f", appliance)["feeds"] == ["flights"]


def test_every_cluster_is_asked_and_those_without_an_answer_have_a_problem(tmp_path):
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG)
    found = connections_of(load(file), timeout_seconds=0.2)
    assert [each.cluster for each in found] == [
        *("east regional", "east aggregate", "west regional", "west aggregate")
    ]
    assert all(each.cluster_id is None and each.problem for each in found)


def test_differences_of_upsert_tables_are_shown_in_place_of_the_summary(tmp_path: Path) -> None:
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG)
    appliance = load(file)
    whole = FeedCheck(("flights",), (), ())
    assert check_text(appliance, SOUND, whole) == check_text(appliance, SOUND)
    assert check_values("f", appliance, SOUND, whole)["ok"] is True
    wrong = FeedCheck(("flights",), (Finding("air.t__rows", "lacks the column at"),), ("h: no",))
    text = check_text(appliance, SOUND, wrong)
    assert text.endswith("\nair.t__rows: lacks the column at\nh: no")
    assert "routes" not in text
    values = check_values("f", appliance, SOUND, wrong)
    assert values["ok"] is False
    assert values["upsert_tables"]["problems"] == ["h: no"]
    assert values["upsert_tables"]["mistakes"][0]["where"] == "air.t__rows"


def test_without_upsert_tables_no_store_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG)
    assert tables_of(load(file), 1.0) is None
