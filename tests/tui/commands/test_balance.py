"""`sluice balance` without servers: tests that end before one is contacted."""

import re
from dataclasses import replace

import pytest

from replicator.orders.order_records import Pin
from replicator.placement.rounds import daemon
from replicator.placement.rounds.preview import NoDriver
from replicator.runtime.exit_codes import Exit
from tests.tui import balance_records
from tests.tui.balance_records import (
    FIELDS,
    NOW_MS,
    active_plan,
    lease,
    log_of,
    placed,
    status,
)
from tests.tui.commands.test_replicate import CONFIG
from tui.commands.balance import show_remarks, show_text, show_values
from tui.commands.exit_codes import ExitCode, exit_code_of
from tui.commands.options import typed_config_option
from tui.facts.balance_readings import BalanceReadings
from tui.program import run

REASON = ["--reason", "why"]
ROUTE = ["--route", "west>east"]


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch):
    monkeypatch.delenv("SLUICE_CONFIG", raising=False)


@pytest.fixture
def config(tmp_path) -> str:
    """Configuration of servers that do not exist: contacting one gives another exit code."""
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG)
    return str(file)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--region"),
        (["--region", "north"], "no region 'north'"),
        (["--region", "west"], "no route leads into 'west'"),
        (["show"], "either --region or --route"),
        (["show", "--region", "north"], "no region 'north'"),
        (["show", "--region", "west"], "no route leads into 'west'"),
        (["show", "--region", "east", "--route", "east>east"], "no route 'east>east'"),
        (["plan"], "either --region or --route"),
        (["plan", "--region", "west", *ROUTE], "does not lead into region west"),
        (["apply", "--generation", "1"], "--route"),
        (["apply", *ROUTE], "--generation"),
        (["apply", *ROUTE, "--generation", "-1"], "--generation"),
        (["apply", *ROUTE, "--generation", "1", "--timeout", "0"], "--timeout"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    """Options before a subcommand's name count for the subcommand as well."""
    assert run(["balance", "--config", config, *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_without_a_configuration_nothing_starts(capsys):
    assert run(["balance", "--region", "east"]) == ExitCode.USAGE
    assert "--config" in capsys.readouterr().err


def test_without_a_command_it_is_the_daemon(monkeypatch, config):
    monkeypatch.setattr(daemon, "run", lambda *given: 40 + (given == (config, "east")))
    assert run(["balance", "--config", config, "--region", "east"]) == 41


def test_the_daemon_ends_with_the_codes_of_the_program():
    own = {"STOPPED": ExitCode.DONE, "MISCONFIGURED": ExitCode.USAGE}
    for code in Exit:
        assert own.get(code.name, getattr(ExitCode, code.name, None)) == code, code


def test_that_no_driver_shows_anything_is_a_refusal():
    assert exit_code_of(NoDriver("start it")) is ExitCode.REFUSED


@pytest.mark.parametrize("is_before", [True, False])
def test_the_next_command_repeats_the_configuration_wherever_it_was_typed(
    config, monkeypatch, is_before
):
    said = []

    def seen(*_):
        said.append(typed_config_option())
        raise NoDriver("enough")

    monkeypatch.setattr("replicator.config.topology.load", seen)
    typed = ["--config", config]
    words = [*typed, "plan"] if is_before else ["plan", *typed]
    assert run(["balance", *words, "--region", "east"]) == ExitCode.REFUSED
    assert said == [f" --config {config}"]


PIN = Pin(**FIELDS, topic="orders", partition=1, carrier=1, why="near")
ORDER_LOG = log_of(placed(), lease(), PIN)
ROUNDS = (status(),)
NOW = NOW_MS / 1000


def shown(order_log=ORDER_LOG, rounds=ROUNDS, driver=None, problems=()):
    driver = driver or active_plan()
    routes = (balance_records.ROUTE,)
    readings = BalanceReadings("east", routes, NOW_MS, order_log, rounds, driver, problems)
    return readings.view(60.0, acts=readings.is_acting)


NOTHING = BalanceReadings("east", (balance_records.ROUTE,), NOW_MS, None, None, None, ("away",))
UNKNOWN = NOTHING.view(60.0, acts=NOTHING.is_acting)


def test_programs_read_balancing_as_in_status():
    found = show_values(shown())
    (stream,) = found["streams"]
    assert (found["schema_version"], found["is_acting"], found["lease_who"]) == (
        2,
        True,
        "bob@ops pid 7",
    )
    assert (found["lease_since_ms"], found["lease_at_ms"]) == (NOW_MS - 3_600_000, NOW_MS - 3000)
    assert (found["driver_partitions"], found["driver_slots"]) == (4, 4)
    assert (stream["route"], stream["stream"], stream["generation"]) == ("west>east", "default", 3)
    carrier = {"number": 1, "partitions": 2, "load": 0.4, "host": None}
    assert stream["carriers"][1] == carrier
    assert (stream["heaviest"], stream["bound"]) == (0.4, 0.4)
    assert (stream["certificate"], stream["needed"], stream["held"]) == (0, 2, "moves are paused")
    assert stream["alerts"][0]["evidence"] == {"0": 0.9}
    assert stream["at_ms"] == NOW_MS - 12_000
    assert stream["cost_seconds"]["opened"] == {"per_byte": 1e-9, "per_record": 2e-6}
    (pin,) = found["orders"]
    assert (pin["kind"], pin["topic"], pin["partition"], pin["carrier"]) == ("pin", "orders", 1, 1)


def test_what_is_not_known_is_null_and_a_question_mark(assert_snapshot):
    found = show_values(UNKNOWN)
    assert (found["is_acting"], found["orders"], found["problems"]) == (None, None, ["away"])
    (stream,) = found["streams"]
    unknown = ("generation", "is_paused", "partitions", "carriers", "heaviest", "at_ms")
    assert [stream[each] for each in unknown] == [None] * len(unknown)
    assert_snapshot(show_text(UNKNOWN, NOW), "balance_unknown")


def test_people_see_the_balancer_the_streams_what_is_held_the_alerts_and_the_orders(
    assert_snapshot,
):
    assert_snapshot(show_text(shown(), NOW), "balance")


def test_a_paused_stream_says_so_also_where_its_state_is_an_alert():
    (stream, *others) = shown().streams
    paused = replace(shown(), streams=(replace(stream, is_paused=True), *others))
    heads, row = (re.split(r" {2,}", line) for line in show_text(paused, NOW).splitlines()[3:5])
    cells = dict(zip(heads, row, strict=True))
    assert (cells["STATE"], cells["PAUSED"]) == ("HOT", "yes")


def test_the_heaviest_of_many_carriers_are_shown_unless_all_are_asked_for():
    numbers = range(100)
    many = placed().model_copy(update={"carriers": tuple(numbers), "topics": {}})
    found = shown(log_of(many, lease()), (status(loads={n: n / 100 for n in numbers}),))
    few = show_text(found, NOW)
    assert "40 of 100 carriers" in few and "0.990" in few and "0.010" not in few
    assert "0.010" in show_text(found, NOW, all_carriers=True)


def test_a_missing_balancer_is_named_with_the_command_that_starts_one():
    lapsed = shown(log_of(placed(), lease(40)))
    (remark,) = show_remarks(lapsed)
    assert remark == "no balancer acts: start `sluice balance --region east`"
    assert list(show_remarks(shown())) == []
    assert "DOES NOT ACT" in show_text(lapsed, NOW)
    no_driver = replace(shown(), has_driver=False)
    assert list(show_remarks(no_driver)) == ["no driver shows what it carries into east"]
