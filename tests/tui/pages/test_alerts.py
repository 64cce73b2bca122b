"""Page of alerts: states, notes, and the commands that acknowledge them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.console.snapshots import NOW, healthy
from tests.tui.console.typed_actions import command_of, typed_words
from tests.tui.pages.finding_snapshots import PARKED, RESOLVED, SILENCED, findings
from tui.pages.alert import AlertPage
from tui.pages.alerts import AlertsPage, alert_row
from tui.steering.steered_command import steered

PAGE = AlertsPage()


def row_of(alert):
    return alert_row(alert, NOW)


def actions(alert):
    return {each.key: each for each in PAGE.actions(findings(), alert and row_of(alert), NOW)}


def test_every_alert_has_a_row_with_its_level_state_and_age():
    (section,) = PAGE.sections(findings(), NOW)
    texts = [[cell.text for cell in row.cells] for row in section.rows]
    assert texts[0][:4] == ["PAGE", "open", PARKED.text, "3:00"]
    assert [each[1] for each in texts] == ["open"] * 3 + ["acked", "silenced", "resolved"]
    assert texts[-1][3] == "1:00"
    assert [row.is_fault for row in section.rows] == [True] * 3 + [False] * 3
    assert PAGE.title(findings()) == "alerts   3 open, 1 acknowledged, 1 silenced, 1 resolved"


def test_alerts_that_are_not_known_are_not_none():
    unknown = replace(healthy(), alerts=None)
    assert PAGE.title(unknown) == "alerts   not known yet"
    assert PAGE.sections(unknown, NOW)[0].empty == "alerts are not known yet"
    assert PAGE.sections(healthy(), NOW)[0].empty == "no alert"


def test_enter_leads_to_the_alert():
    assert PAGE.opened(findings(), row_of(PARKED)) == AlertPage(PARKED.key)
    assert PAGE.opened(healthy(), row_of(PARKED)) is None


def test_notes_say_who_has_seen_it_until_when():
    assert PAGE.notes(findings(), row_of(PARKED), NOW) == ()
    (line,) = PAGE.notes(findings(), row_of(SILENCED), NOW)
    assert line == "silenced until 2026-11-21 14:32:31Z by bob@ops: moving"
    assert PAGE.notes(findings(), row_of(RESOLVED), NOW) == ("ended at 2026-11-21 14:01:31Z",)
    assert PAGE.notes(findings(), None, NOW) == ()


def test_acknowledging_needs_a_reason_and_is_a_command_that_the_program_takes():
    path, values = command_of(actions(PARKED)["K"])
    assert path == "alerts acknowledge"
    assert (values["key"], values["region"], values["reason"]) == (PARKED.key, "west", "load test")


def test_silencing_takes_how_long():
    path, values = command_of(actions(PARKED)["Z"], **{"for": "7d"})
    assert (path, values["key"], values["duration"]) == ("alerts silence", PARKED.key, "7d")


def test_only_what_was_acknowledged_or_silenced_is_reopened():
    assert actions(PARKED)["O"].why_off == "nobody has acknowledged or silenced it"
    path, values = command_of(actions(SILENCED)["O"])
    assert (path, values["key"], values["region"]) == ("alerts reopen", SILENCED.key, "west")


@pytest.mark.parametrize("key", ["K", "Z", "O"])
def test_the_console_runs_them_once_confirmed(key):
    action = actions(SILENCED)[key]
    assert action.changes and not action.is_copied
    assert steered(typed_words(action))[0] == action.words[:2]
    assert {field.name for field in action.fields} <= {"reason", "for"}


def test_the_command_that_goes_deeper_is_copied():
    deeper = actions(PARKED)["D"]
    assert deeper.is_copied and deeper.why_off is None
    path, values = command_of(deeper)
    assert (path, values["feed_name"], values["partition"]) == ("aggregate accept-loss", "ticks", 1)
    assert actions(RESOLVED)["D"].why_off == "no command goes deeper"


def test_what_has_ended_or_is_no_alert_is_not_acknowledged():
    assert {actions(RESOLVED)[key].why_off for key in "KZO"} == {"the alert has ended"}
    assert {each.why_off for each in actions(None).values()} == {"no alert under the cursor"}
