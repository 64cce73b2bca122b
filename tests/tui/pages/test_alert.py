"""Page of one alert: facts, details, and where its cause is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.console.snapshots import NOW, NOW_MS, feed, healthy
from tests.tui.console.typed_actions import parsed_words
from tests.tui.facts.test_anomaly import anomaly
from tests.tui.facts.test_finding_causes import AUDIT, with_alerts
from tests.tui.pages.finding_snapshots import PARKED, RESOLVED, SILENCED, findings
from tui.facts.alert_rules import NO_LOOK, next_look
from tui.facts.balancing import BalanceAlert
from tui.pages.alert import AlertPage, cause_page
from tui.pages.balance import BalancePage
from tui.pages.feed import FeedPage
from tui.pages.groups import GroupsPage
from tui.pages.page import Row
from tui.pages.partitions import PartitionsPage
from tui.pages.topics import TopicsPage

PAGE = AlertPage(PARKED.key)
ANY = Row(key="0", cells=())


def test_an_alert_shows_its_facts_and_its_rows():
    facts, details = PAGE.sections(findings(), NOW)
    assert {row.key: row.cells[1].text for row in facts.rows} == {
        "text": PARKED.text,
        "about": "feed ticks",
        "since": "2026-11-21 13:59:31 UTC, 3:00 ago",
    }
    assert [row.cells[0].text for row in details.rows] == list(PARKED.rows)
    assert PAGE.title(findings()) == f"alert {PARKED.key}   PAGE open"


def test_the_command_that_goes_deeper_is_on_the_page():
    (line,) = PAGE.notes(findings(), None, NOW)
    assert line == (
        "goes deeper: sluice aggregate accept-loss --feed ticks --cluster 'west aggregate' "
        "--topic orders --partition 1"
    )
    assert AlertPage(RESOLVED.key).notes(findings(), None, NOW) == ()


def test_who_has_seen_it_and_its_end_are_facts():
    facts, _ = AlertPage(SILENCED.key).sections(findings(), NOW)
    assert facts.rows[-1].why == "silenced until 2026-11-21 14:32:31 UTC by bob@ops: moving"
    facts, _ = AlertPage(RESOLVED.key).sections(findings(), NOW)
    assert facts.rows[-1].why == "2026-11-21 14:01:31 UTC, 1:00 ago"


def test_an_alert_that_is_forgotten_says_so():
    assert PAGE.title(healthy()) == f"alert {PARKED.key}   ended more than an hour ago"
    facts, details = PAGE.sections(healthy(), NOW)
    assert (len(facts.rows), len(details.rows)) == (0, 0)
    assert PAGE.opened(healthy(), ANY) is None
    assert {each.why_off for each in PAGE.actions(healthy(), None, NOW)} == {
        "no alert under the cursor"
    }


def test_enter_leads_to_the_partition_of_the_feed():
    assert PAGE.opened(findings(), ANY) == FeedPage("ticks", "west aggregate", "orders", 1)


@pytest.mark.parametrize(
    ("changes", "page"),
    [
        ({"route": "east>west"}, PartitionsPage("east>west", "orders", 1)),
        ({"route": "east>west", "topic": None}, TopicsPage("east>west")),
        ({"about": ("x", "west>east"), "topic": None}, TopicsPage("west>east")),
        ({"kind": "balance", "route": "gone"}, BalancePage()),
        ({"kind": "group", "about": ("group billing",)}, GroupsPage()),
        ({"about": ("west",)}, None),
    ],
)
def test_enter_leads_as_close_to_the_cause_as_is_known(changes, page):
    assert cause_page(findings(), replace(PARKED, feed=None, **changes)) == page


def test_every_command_that_goes_deeper_is_one_that_the_program_takes():
    found = with_alerts(
        BalanceAlert(name="hot partition", text="orders-17 takes 0.84 of a carrier"),
        BalanceAlert(name="no room", text="2 partitions"),
    )
    east, west = found.regions
    bad = replace(
        found,
        regions=(east, replace(west, copies_age_seconds=99.0)),
        audits=(AUDIT,),
        anomalies=(anomaly(at_ms=NOW_MS),),
        groups=tuple(replace(each, is_out_of_place=True) for each in found.groups or ()),
        feeds=(feed(),),
    )
    alerts = next_look(NO_LOOK, bad, [], NOW).alerts
    paths = [parsed_words(alert.command)[0] for alert in alerts if alert.command]
    assert set(paths) == {
        "aggregate accept-loss",
        "audit",
        "balance partitions",
        "groups show",
        "offsets show",
        "verify check",
    }
