"""Page of the topics of a route."""

from dataclasses import replace

from tests.tui.console import snapshots
from tests.tui.console.values.routes import with_partitions
from tui.pages.page import Row
from tui.pages.partitions import PartitionsPage
from tui.pages.topics import COLUMNS, TopicsPage, topic_row

PAGE, NOW = TopicsPage("east>west"), snapshots.NOW


def cells(row: Row) -> dict[str, str]:
    return {column.title: cell.text for column, cell in zip(COLUMNS, row.cells, strict=True)}


def test_a_topic_has_the_worst_state_and_the_sums_of_its_partitions():
    (section,) = PAGE.sections(snapshots.lagging(), NOW)
    row = section.rows[0]
    assert [cell.text for cell in row.cells[:3]] == ["PARKED", "orders", "20"]
    assert row.is_fault and row.why.startswith("parked: ")
    assert cells(row)["PARKED"] == "1"


def test_a_topic_has_its_trend_and_the_time_of_its_slowest_partition():
    topic = next(each for each in snapshots.lagging().routes[1].topics if each.topic == "orders")
    partitions = [
        replace(each, lag_records=10, lag_per_second=-2.0, drain_seconds=5.0)
        for each in topic.partitions
    ]
    drains = with_partitions(topic, (replace(partitions[0], drain_seconds=40.0), *partitions[1:]))
    shown = cells(topic_row(drains, "east>west"))
    assert (shown["DRAIN"], shown["TREND"]) == ("40 s", f"{-2 * len(partitions)}/s")
    grows = replace(partitions[0], lag_per_second=3.0, drain_seconds=None)
    shown = cells(topic_row(with_partitions(topic, (grows, *partitions[1:])), "east>west"))
    assert shown["DRAIN"] == "grows"
    unknown = replace(partitions[0], lag_per_second=None, drain_seconds=None)
    shown = cells(topic_row(with_partitions(topic, (unknown, *partitions[1:])), "east>west"))
    assert (shown["DRAIN"], shown["TREND"]) == ("?", "?")


def test_parked_partitions_that_are_not_known_are_a_question_mark():
    (topic, *_) = snapshots.healthy().routes[0].topics or ()
    silent = [replace(each, custody=None, carrier=None) for each in topic.partitions]
    shown = cells(topic_row(with_partitions(topic, silent), "west>east"))
    assert shown["PARKED"] == "?"


def test_topics_that_are_not_known_are_not_shown_as_none():
    snapshot = snapshots.region_gone()
    (section,) = PAGE.sections(snapshot, NOW)
    assert section.empty == "topics are not known: west regional: connection refused"
    assert PAGE.title(snapshot) == "east>west   topics not known"
    (section,) = TopicsPage("no>where").sections(snapshot, NOW)
    assert section.empty == "the route no>where is not known"


def test_a_row_opens_its_partitions():
    snapshot = snapshots.lagging()
    (section,) = PAGE.sections(snapshot, NOW)
    assert PAGE.opened(snapshot, section.rows[0]) == PartitionsPage("east>west", "orders")


def test_notes_are_those_of_the_topic_plan_and_of_the_route():
    snapshot = snapshots.lagging()
    route = snapshot.routes[1]
    assert route.topics is not None
    topic = replace(route.topics[0], notes=("4 partitions, the sources have 2",))
    routes = (replace(route, topics=(topic,), problems=("west redis: no answer",)),)
    (section,) = PAGE.sections(replace(snapshot, routes=routes), NOW)
    notes = PAGE.notes(replace(snapshot, routes=routes), section.rows[0], NOW)
    assert notes == ["plan: 4 partitions, the sources have 2", "west redis: no answer"]


def test_a_loss_can_be_accepted_where_a_partition_is_parked():
    snapshot = snapshots.lagging()
    (section,) = PAGE.sections(snapshot, NOW)
    assert PAGE.actions(snapshot, section.rows[0], NOW)[-1].why_off is None
    assert PAGE.actions(snapshot, section.rows[1], NOW)[-1].why_off == "nothing here is parked"
