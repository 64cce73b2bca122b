"""Page of the whole appliance."""

from dataclasses import replace

from tests.tui.console import snapshots
from tui.facts.alert import AlertState
from tui.pages.alert import AlertPage
from tui.pages.events import EventsPage
from tui.pages.overview import OverviewPage, kafka_text, region_row
from tui.pages.partitions import PartitionsPage
from tui.pages.topics import TopicsPage

PAGE, NOW = OverviewPage(), snapshots.NOW


def rows(snapshot, name: str):
    found = {section.name: section for section in PAGE.sections(snapshot, NOW)}
    return found[name].rows


def test_a_missing_daemon_is_a_word_and_a_fault():
    region = replace(snapshots.region("west"), daemons=snapshots.daemons(missing="offsets"))
    row = region_row(region)
    assert row.cells[1].text == "replicate ok  balance ok  offsets MISSING"
    assert row.is_fault


def test_daemons_of_several_versions_are_all_named():
    region = snapshots.region("west")
    mixed = (*region.daemons[:1], *snapshots.daemons(version="0.1.9")[1:])
    assert region_row(replace(region, daemons=mixed)).cells[-1].text == "0.1.9, 0.2.0"


def test_old_copies_are_stale_and_those_of_unknown_age_unknown():
    region = snapshots.region("west")
    assert region_row(replace(region, copies_age_seconds=300.0)).cells[4].text == "STALE"
    assert region_row(replace(region, copies_age_seconds=None)).cells[4].text == "?"


def test_the_silent_cluster_is_named():
    region = snapshots.region("west")
    assert kafka_text(region) == "ok"
    assert kafka_text(replace(region, aggregate="silent")) == "aggreg?"[:7]
    assert kafka_text(replace(region, regional="silent", aggregate="silent")) == "silent"
    assert kafka_text(replace(region, regional="unknown")) == "?"


def test_a_redis_that_refuses_this_user_is_told_apart_from_a_silent_one():
    region = replace(snapshots.region("west"), redis="no right")
    assert any(cell.text == "denied" for cell in region_row(region).cells)
    assert region_row(region).is_fault


def test_open_alerts_are_counted_and_the_others_named():
    sections = {each.name: each for each in PAGE.sections(snapshots.region_gone(), NOW)}
    assert sections["alerts"].heading == "ALERTS 2 open, 1 acknowledged"
    assert [row.cells[0].text for row in sections["alerts"].rows] == ["PAGE", "WARN"]
    empty = {each.name: each for each in PAGE.sections(snapshots.empty(), NOW)}["alerts"]
    assert (empty.heading, empty.empty) == ("ALERTS not known yet", "alerts are not known")


def test_enter_leads_to_the_cause():
    snapshot = snapshots.region_gone()
    route = rows(snapshot, "routes")[0]
    assert PAGE.opened(snapshot, route) == TopicsPage("west>east")
    page, warning = rows(snapshot, "alerts")
    assert PAGE.opened(snapshot, page) == TopicsPage("west>east")
    assert PAGE.opened(snapshot, warning) == PartitionsPage("east>west", "orders", 17)


def test_a_failed_audit_opens_its_own_page():
    found = snapshots.lagging()
    alerts = tuple(replace(each, state=AlertState.OPEN) for each in found.alerts)
    snapshot = replace(found, alerts=alerts)
    audit = next(row for row in rows(snapshot, "alerts") if row.key.startswith("audit"))
    assert PAGE.opened(snapshot, audit) == AlertPage(audit.key)


def test_a_region_says_what_is_in_its_way_and_what_its_daemons_do():
    snapshot = snapshots.region_gone()
    west = rows(snapshot, "regions")[1]
    assert PAGE.notes(snapshot, west, NOW)[0] == "west regional: connection refused"
    busy = replace(
        snapshot.regions[0], daemons=(replace(snapshots.daemons()[0], doing="carries 76"),)
    )
    snapshot = replace(snapshot, regions=(busy,))
    (row,) = rows(snapshot, "regions")
    assert PAGE.notes(snapshot, row, NOW) == ["replicate on repl-a, pid 417: carries 76"]
    assert PAGE.notes(snapshot, None, NOW) == ()
    assert PAGE.opened(snapshot, row) == EventsPage(region="east")
    assert PAGE.opened(snapshot, replace(row, key="gone")) is None
