"""Output of alerts, for people and programs."""

import json

from replicator.notices.acknowledgement import Acknowledgement
from tests.tui.console.snapshots import NOW_MS, alerts
from tui.commands.views.alerts_view import (
    acknowledgement_text,
    acknowledgement_values,
    as_text,
    as_values,
    reopened_text,
    reopened_values,
)

GIVEN = Acknowledgement(key="copies/east", who="ann@ops", why="looking", at_ms=NOW_MS)
SILENT = Acknowledgement(
    key="copies/east", who="ann@ops", why="move", at_ms=NOW_MS, until_ms=NOW_MS + 60_000
)


def test_a_table_of_alerts(assert_snapshot):
    assert_snapshot(as_text(alerts(), ["west Redis: no answer"]), "alerts")


def test_no_alert_is_said():
    assert as_text([], []) == "no alert"


def test_values_have_words_and_times():
    values = json.loads(json.dumps(as_values(alerts(), ["p"])))
    assert (values["schema_version"], values["problems"]) == (1, ["p"])
    first, *_, last = values["alerts"]
    assert (first["level"], first["state"]) == ("PAGE", "open")
    assert (first["since"], first["until"]) == ("2026-11-21T14:01:10Z", None)
    assert (last["state"], last["who"], last["command"][0]) == (
        "acknowledged",
        "alice@ops",
        "audit",
    )
    assert "since_ms" not in first


def test_an_acknowledgement_and_a_silence_say_how_long_they_hold():
    assert acknowledgement_text(GIVEN) == "acknowledged until it ends: copies/east"
    assert acknowledgement_text(SILENT) == "silenced until 2026-11-21T14:03:31Z: copies/east"
    assert acknowledgement_values("east", GIVEN)["until"] is None
    assert acknowledgement_values("east", SILENT)["until"] == "2026-11-21T14:03:31Z"


def test_what_was_not_acknowledged_is_not_reopened():
    assert reopened_text("copies/east", True) == "open again: copies/east"
    assert "nothing was changed" in reopened_text("copies/east", False)
    assert reopened_values("east", "copies/east", False)["reopened"] is False
