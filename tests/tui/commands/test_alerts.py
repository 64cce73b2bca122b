"""`sluice alerts` without servers: mistakes, and what is said when nobody answers."""

import json
from types import SimpleNamespace

import click
import pytest

from replicator.config.topology import KafkaCluster, Region
from replicator.notices.acknowledgement import Acknowledgement
from replicator.runtime.store_errors import StoreUnreachable
from tests.addresses import refusing
from tests.tui.commands.test_replicate import config
from tests.tui.console.snapshots import NOW, alerts
from tui.commands.alerts import (
    KEY_CHARACTERS_MAX,
    Acknowledging,
    checked_key,
    list_text,
    noted,
    reopened,
)
from tui.commands.exit_codes import ExitCode
from tui.commands.output import plain_values
from tui.facts.alert import KEY_BEGINNINGS, AlertList
from tui.program import run

__all__ = ["config"]  # fixture

KEY = "parked/west>east/orders/"
REASON = ["--reason", "looking"]
EAST = ["--region", "east"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["acknowledge", *EAST, *REASON], "KEY"),
        (["acknowledge", KEY, *REASON], "--region"),
        (["acknowledge", KEY, *EAST], "--reason"),
        (["acknowledge", KEY, *EAST, "--reason", " "], "--reason is empty"),
        (["acknowledge", "nonsense", *EAST, *REASON], "'nonsense' is no key of an alert"),
        (["acknowledge", KEY, "--region", "north", *REASON], "no region 'north'"),
        (["silence", KEY, *EAST, *REASON], "--for"),
        (["silence", KEY, *EAST, *REASON, "--for", "1 day"], "no length of time"),
        (["reopen", KEY], "--region"),
        (["list", "--region", "north"], "no region 'north'"),
        (["list", "--timeout", "0"], "--timeout"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    command, *rest = arguments
    assert run(["alerts", command, "--config", config, *rest]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["acknowledge", KEY, *EAST, *REASON],
        ["silence", KEY, *EAST, *REASON, "--for", "2h"],
        ["reopen", KEY, *EAST],
    ],
)
def test_without_redis_nothing_is_changed(config, capsys, arguments):
    command, *rest = arguments
    assert run(["alerts", command, "--config", config, *rest]) == ExitCode.UNREACHABLE
    assert "Redis at redis://127.0.0.1:1" in capsys.readouterr().err


def test_servers_that_refuse_are_alerts_themselves(config, capsys):
    arguments = ["alerts", "list", "--config", config, "--timeout", "2", "-o", "json"]
    assert run(arguments) == ExitCode.UNREACHABLE
    shown = json.loads(capsys.readouterr().out)
    assert [(each["level"], each["key"]) for each in shown["alerts"]] == [
        ("PAGE", "region/east"),
        ("PAGE", "region/west"),
    ]
    assert shown["problems"]


def test_a_table_of_alerts(assert_snapshot):
    found = AlertList(alerts=alerts(), problems=("west Redis: no answer",))
    assert_snapshot(list_text(found, NOW), "alerts")


def test_the_list_has_the_date_at_which_each_alert_began():
    found = alerts()[0]
    row = list_text(AlertList(alerts=(found,)), NOW + 3 * 86400).splitlines()[1]
    assert "2026-11-21T14:01:10Z" in row and "3 d 0 h" in row


def test_no_alert_is_said():
    assert list_text(AlertList(alerts=()), NOW) == "no alert"


def test_programs_read_alerts_as_in_status():
    values = plain_values(AlertList(alerts=alerts(), problems=("p",)))
    assert (values["schema_version"], values["problems"]) == (2, ["p"])
    first, *_, last = values["alerts"]
    assert (first["level"], first["state"]) == ("PAGE", "open")
    assert (first["since_ms"], first["until_ms"]) == (1795269670000, None)
    assert (last["state"], last["who"], last["command"][0]) == (
        "acknowledged",
        "alice@ops",
        "audit",
    )


class Noting:
    """Acknowledging that notes what it is given; no server is asked."""

    region = SimpleNamespace(name="east")

    def __init__(self):
        self.given = []

    def put(self, key, why, now_ms, until_ms=None, extent=None):
        self.given.append((key, why, until_ms and until_ms - now_ms, extent))
        return Acknowledgement(key=key, who="a@b", why=why, at_ms=now_ms, until_ms=until_ms)

    def withdraw(self, key):
        self.given.append(key)
        return True


def test_what_was_recorded_is_shown(capsys):
    noting = Noting()
    assert noted(noting, KEY, "looking", "table", extent=2) == ExitCode.DONE
    assert capsys.readouterr().out == f"acknowledged until it ends: {KEY}\n"
    assert noted(noting, KEY, "looking", "table", duration="90s") == ExitCode.DONE
    capsys.readouterr()
    assert reopened(noting, KEY, "json") == ExitCode.DONE
    assert json.loads(capsys.readouterr().out)["reopened"] is True
    assert noting.given == [(KEY, "looking", None, 2), (KEY, "looking", 90_000, None), KEY]


def test_an_acknowledgement_and_a_silence_say_how_long_they_hold(capsys):
    noted(Noting(), KEY, "looking", "json")
    assert json.loads(capsys.readouterr().out)["until_ms"] is None
    noted(Noting(), KEY, "looking", "json", duration="90s")
    given = json.loads(capsys.readouterr().out)
    assert given["until_ms"] == given["at_ms"] + 90_000
    noted(Noting(), KEY, "looking", "table", duration="90s")
    assert capsys.readouterr().out.startswith("silenced until 20")


def test_what_was_not_acknowledged_is_not_reopened(capsys):
    nobody = Noting()
    nobody.withdraw = lambda key: False
    assert reopened(nobody, KEY, "table") == ExitCode.DONE
    assert "nothing was changed" in capsys.readouterr().out


@pytest.mark.parametrize("kind", KEY_BEGINNINGS)
def test_the_keys_of_all_kinds_of_alerts_are_taken(kind):
    checked_key(None, None, f"{kind}/west>east/orders/")


@pytest.mark.parametrize("key", ["", "copies", "copies/", "nonsense/x", "copies/" + "x" * 1000])
def test_a_key_that_no_alert_has_is_refused(key):
    assert KEY_CHARACTERS_MAX == 1000
    with pytest.raises(
        click.UsageError, match="no key of an alert; keys begin with audit/, balance/"
    ):
        checked_key(None, None, key)


def test_without_redis_nothing_is_acknowledged():
    region = Region(
        name="east",
        regional=KafkaCluster(bootstrap=("h:1",)),
        aggregate=KafkaCluster(bootstrap=("h:2",)),
        redis=f"redis://{refusing()}",
    )
    acknowledging = Acknowledging(region, "ann@ops", 1.0)
    with pytest.raises(StoreUnreachable):
        acknowledging.put("copies/east", "looking", 1000)
    with pytest.raises(StoreUnreachable):
        acknowledging.withdraw("copies/east")
