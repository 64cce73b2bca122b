"""`sluice aggregate` without servers: tests that end before one is contacted."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tests.replicator.config.test_feed_contradictions import feed
from tests.tui.commands.test_replicate import CONFIG
from tui.commands.aggregate import check_text, check_values
from tui.commands.exit_codes import ExitCode
from tui.facts.feed_findings import FeedCheck, Finding
from tui.program import run

MISTAKE = Finding("air.flights", "is missing on one: its records are set aside")
REMARK = Finding("air.delays", "recognizes 100 blocks", is_mistake=False)
CHECK = FeedCheck(("delays", "flights"), (REMARK, MISTAKE), ("ClickHouse at two: away",))


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch):
    monkeypatch.delenv("SLUICE_CONFIG", raising=False)


@pytest.fixture
def config(tmp_path) -> str:
    """Configuration of servers that do not exist: contacting one gives another exit code."""
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG + feed())
    return str(file)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--region"),
        (["--region", "north"], "no region 'north'"),
        (["--region", "east"], "region 'east' has no feed"),
        (["--region", "west", "--conf", "x"], "a setting is KEY=VALUE"),
        (["status", "--region", "north"], "no region 'north'"),
        (["status", "--feed", "x"], "no feed 'x'; known: flights"),
        (["--region", "east", "status", "--feed", "flights"], "does not load feed 'flights'"),
        (["status", "--timeout", "0"], "--timeout"),
        (["nonsense"], "No such command"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    """Options before a subcommand's name count for the subcommand as well."""
    assert run(["aggregate", "--config", config, *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_without_a_configuration_nothing_starts(capsys):
    assert run(["aggregate", "--region", "west"]) == ExitCode.USAGE
    assert "--config" in capsys.readouterr().err


def test_without_a_command_it_is_the_daemon(monkeypatch, config):
    started = []

    def daemon_run(*given, **options):
        started.append((given, options))
        return 41

    # The daemon itself imports Spark.
    module = SimpleNamespace(run=daemon_run)
    monkeypatch.setitem(sys.modules, "aggregator.driver.start", module)
    monkeypatch.setattr("aggregator.driver.start", module, raising=False)
    arguments = ["--config", config, "--region", "west", "--conf", "spark.x=1", "--master", "m"]
    assert run(["aggregate", *arguments]) == 41
    assert started == [((config, "west"), {"master": "m", "conf": {"spark.x": "1"}})]


def test_the_help_says_what_is_loaded_where_and_lists_the_commands(capsys):
    assert run(["aggregate", "--help"]) == ExitCode.DONE
    text = capsys.readouterr().out
    assert "  Load topics into ClickHouse and S3" in text
    for name in ("status", "freeze", "resume", "refresh-schema", "skip-replay"):
        assert f"  {name} " in text


def test_mistakes_come_first_and_problems_last(assert_snapshot):
    assert_snapshot(check_text(CHECK), "feed_check")


def test_feeds_without_mistakes_are_ok_with_their_remarks():
    assert check_text(FeedCheck(("flights",), (), ())) == "ok: flights"
    remarked = check_text(FeedCheck(("flights",), (REMARK,), ()))
    assert "remark" in remarked and remarked.endswith("\n\nok: flights")


def test_values_of_a_check_say_whether_all_is_well():
    assert check_values(CHECK) == {
        "ok": False,
        "feeds": ["delays", "flights"],
        "findings": [
            {"where": "air.delays", "text": "recognizes 100 blocks", "is_mistake": False},
            {"where": "air.flights", "text": MISTAKE.text, "is_mistake": True},
        ],
        "problems": ["ClickHouse at two: away"],
    }
    assert check_values(FeedCheck(("flights",), (REMARK,), ()))["ok"] is True
