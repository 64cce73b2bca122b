"""Questions about routes, and their past traffic."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import pytest

from balancer.demand.window_columns import WindowColumns
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.kafka.admin.topic import Configs, Topic
from tests.tui.facts.watch.told import appliance
from tui.facts.watch.admins import Admins
from tui.facts.watch.question import Key, Question
from tui.facts.watch.route_questions import (
    FocusedTopic,
    ends_key,
    focused_ends_key,
    focused_ledger_key,
    ledger_key,
    mirrorable_topics,
    partitions_of,
    reports_key,
    route_questions,
    topics_key,
)
from tui.facts.watch.spotlight import Spotlight
from tui.facts.watch.traffic_questions import rates_by_minute, traffic_key, traffic_questions
from tui.pages.page import Focus

# --- Questions about routes: each cluster is asked once, ends after entries, more for the screen.

BOTH = appliance("east", "west")
WEST_EAST = BOTH.route("west>east")
WEST = ClusterName.regional("west")


def topic(name: str, partitions: int = 2, is_internal: bool = False) -> Topic:
    return Topic(name, UUID(int=1), partitions, Configs({}), is_internal)


class Told:
    """Admin client that tells fixed topics, and counts what is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def topics(self) -> list[Topic]:
        return [topic("orders"), topic("sluice.runs"), topic("__offsets", is_internal=True)]

    def offsets(self, partitions: list[TopicPartition], which: str) -> dict[TopicPartition, int]:
        self.asked.append((partitions, which))
        return dict.fromkeys(partitions, 7)


class ToldAdmins(Admins):
    """Clients that are all one."""

    def __init__(self) -> None:
        super().__init__(BOTH, 3.0)
        self.told = Told()

    def of(self, name: ClusterName) -> Any:
        return self.told


def by_key(spotlight: Spotlight | None = None, admins: Admins | None = None) -> dict[Key, Question]:
    asked = route_questions(admins or Admins(BOTH, 3.0), BOTH.routes, spotlight)
    found = {each.key: each for each in asked}
    assert len(found) == len(asked)
    return found


def test_each_cluster_is_asked_once_for_topics_and_each_source_once_for_ends() -> None:
    found = by_key()
    for name in BOTH.cluster_names:
        assert topics_key(name) in found
    assert {key for key in found if key.about == "log ends"} == {
        ends_key(ClusterName.regional(region)) for region in ("east", "west")
    }
    assert {ledger_key(route) for route in BOTH.routes} < set(found)
    assert {reports_key("east"), reports_key("west")} < set(found)
    assert len(found) == 4 + 2 + 4 + 2


def test_every_question_comes_after_those_that_it_needs_or_waits_for() -> None:
    seen: set[Key] = set()
    for key, question in by_key(Spotlight()).items():
        assert {*question.needs, *question.waits_for} <= seen
        seen.add(key)


def test_ends_are_read_after_the_entries_of_all_routes_from_the_source() -> None:
    found = by_key()[ends_key(WEST)]
    expected = {ledger_key(route) for route in BOTH.routes if route.source == "west"}
    assert set(found.waits_for) == expected


def test_cadences_are_those_of_the_servers() -> None:
    found = by_key(Spotlight())
    assert found[topics_key(WEST)].cadence_seconds == 30.0
    assert found[ledger_key(WEST_EAST)].cadence_seconds == 10.0
    assert found[ends_key(WEST)].cadence_seconds == 10.0
    assert found[reports_key("east")].cadence_seconds == 2.0
    assert found[focused_ledger_key(WEST_EAST)].cadence_seconds == 2.0
    assert found[focused_ends_key(WEST_EAST)].cadence_seconds == 2.0
    assert found[focused_ends_key(WEST_EAST)].follows_focus


def test_a_route_into_one_target_asks_all_sources_of_that_target_for_topics() -> None:
    asked = route_questions(Admins(BOTH, 3.0), [WEST_EAST], None)
    servers = {each.key.server for each in asked if each.key.about == "topics"}
    assert servers == {"east regional", "west regional", "east aggregate"}


def test_own_topics_and_kafkas_are_left_out() -> None:
    assert mirrorable_topics(Told()) == [topic("orders")]


def test_the_topic_on_screen_is_asked_alone() -> None:
    spotlight, admins = Spotlight(), ToldAdmins()
    question = by_key(spotlight, admins)[focused_ends_key(WEST_EAST)]
    topics = [topic("orders"), topic("clicks")]
    assert question.ask(topics) == FocusedTopic()
    spotlight.turn(Focus(topic=("west>east", "orders")))
    places = [TopicPartition("orders", 0), TopicPartition("orders", 1)]
    assert question.ask(topics) == FocusedTopic("orders", ends=dict.fromkeys(places, 7))
    spotlight.turn(Focus(topic=("west>east", "gone")))
    assert question.ask(topics) == FocusedTopic()
    assert admins.told.asked == [(places, "latest")]


def test_without_a_topic_on_screen_no_ledger_is_read_for_it() -> None:
    question = by_key(Spotlight())[focused_ledger_key(WEST_EAST)]
    assert question.ask([topic("orders")]) == FocusedTopic()


def test_partitions_are_numbered_from_zero() -> None:
    assert partitions_of([topic("orders", 2)]) == [
        TopicPartition("orders", 0),
        TopicPartition("orders", 1),
    ]


# --- Past traffic: the balancer's windows as records per second by minute.

PLACES = (TopicPartition("orders", 0), TopicPartition("orders", 1))


def look(end_ms: int, seconds: tuple[int, int], records: tuple[int, int]) -> WindowColumns:
    ends = np.array([end_ms, end_ms])
    lengths = np.array(seconds) * 1000
    return WindowColumns(PLACES, ends - lengths, ends, np.array([0, 0]), np.array(records))


def test_rates_of_partitions_add_up_although_their_windows_differ() -> None:
    assert rates_by_minute([look(120_500, (10, 60), (100, 60))]) == {2: 11.0}


def test_several_looks_in_a_minute_have_their_mean() -> None:
    looks = [look(120_500, (10, 10), (100, 0)), look(130_500, (10, 10), (200, 0))]
    assert rates_by_minute([*looks, look(240_000, (10, 10), (0, 0))]) == {2: 15.0, 4: 0.0}


def test_nothing_known_is_no_rate() -> None:
    empty = np.array([], dtype=np.int64)
    assert rates_by_minute([WindowColumns((), empty, empty, empty, empty)]) == {}


def test_each_route_has_a_question_to_its_targets_redis() -> None:
    found = appliance("east", "west")
    asked = traffic_questions(found, found.routes, 3.0)
    assert {each.key for each in asked} == {traffic_key(route) for route in found.routes}
    assert {each.key.server for each in asked} == {"east Redis", "west Redis"}
    # A Redis that is away at first is asked again soon, and then never.
    assert {(each.is_once, each.cadence_seconds) for each in asked} == {(True, 10.0)}


@pytest.fixture
def with_clickhouse() -> Appliance:
    found = appliance("west")
    balance = found.balance.model_copy(update={"history": "clickhouse"})
    return found.model_copy(update={"balance": balance})


def test_a_past_that_clickhouse_keeps_is_not_asked_for(with_clickhouse: Appliance) -> None:
    assert traffic_questions(with_clickhouse, with_clickhouse.routes, 3.0) == []
