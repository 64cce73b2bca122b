"""Assembly: a snapshot of the last answers, with what earlier ones told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.kafka.admin.topic import Configs, Topic
from replicator.mirror.ledger.ledger_reader import Entries
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.mirror.topics.topic_plan import TopicPlan, plan
from replicator.notices.condition import Condition
from tests.replicator.mirror.ledger.held import held
from tests.tui.facts.watch.told import NOW, appliance
from tui.facts.balancing import BalanceAlert, BalanceView, CarrierLoad, StreamView
from tui.facts.health import Health
from tui.facts.route_facts import Loads
from tui.facts.route_view import PartitionView
from tui.facts.snapshot import Snapshot
from tui.facts.watch.assembly import COPIES_AGE, Assembly, loads_of
from tui.facts.watch.notice_questions import Notices, notices_key
from tui.facts.watch.question import Answer, Answers, Key, Question
from tui.facts.watch.region_questions import reach_key
from tui.facts.watch.route_questions import (
    FocusedTopic,
    ends_key,
    focused_ends_key,
    focused_ledger_key,
    ledger_key,
    reports_key,
    topics_key,
)
from tui.facts.watch.traffic_questions import traffic_key

ONE = appliance("west")
(ROUTE,) = ONE.routes
SOURCE, TARGET = ClusterName.regional("west"), ClusterName.aggregate("west")
PLACE = TopicPartition("orders", 0)
TOPICS = [Topic("orders", UUID(int=1), 1, Configs({}))]
REPORT = PartitionReport(ROUTE.name, "orders", 0, 3, 20.0, 900.0, 100, 90, 10, 0.5, None, NOW)
CADENCES = {ends_key(SOURCE): 10.0, ledger_key(ROUTE): 10.0, topics_key(SOURCE): 30.0}
VALUES = {
    topics_key(SOURCE): TOPICS,
    topics_key(TARGET): TOPICS,
    ledger_key(ROUTE): Entries({PLACE: held(source_offset=70, target_offset=70)}),
    ends_key(SOURCE): {PLACE: 100},
    reports_key("west"): {ROUTE.name: {PLACE: REPORT}},
    notices_key("west"): Notices(),
    reach_key(SOURCE): "id-1",
}


def asked() -> list[Question]:
    return [
        Question(key=key, cadence_seconds=seconds, ask=lambda: None)
        for key, seconds in CADENCES.items()
    ]


def assembly(configured: Appliance = ONE, **parts: Any) -> Assembly:
    return Assembly(configured, sorted(configured.regions), configured.routes, asked(), **parts)


def answers(at: float = NOW, **_: Any) -> dict[Key, Answer]:
    return {key: Answer(value, at) for key, value in VALUES.items()}


def partition(snapshot: Snapshot) -> PartitionView:
    (route,) = snapshot.routes
    (topic,) = route.topics or ()
    return topic.partitions[0]


def test_routes_regions_and_parts_come_from_the_answers() -> None:
    snapshot = assembly().snapshot(Answers(answers()), NOW)
    found = partition(snapshot)
    assert (found.lag_records, found.carrier, found.state) == (10, 3, Health.OK)
    (region,) = snapshot.regions
    assert (region.regional, region.aggregate, region.redis) == ("ok", "unknown", "ok")
    part = next(each for each in snapshot.parts if each.about == "log ends")
    assert (part.server, part.asked_at, part.cadence_seconds) == ("west regional", NOW, 10.0)
    assert snapshot.problems == ()


def test_before_any_answer_everything_is_unknown_and_nothing_fails() -> None:
    snapshot = assembly().snapshot(Answers({}), NOW)
    (route,) = snapshot.routes
    assert (route.topics, route.state) == (None, Health.UNKNOWN)
    assert route.why == "west regional has not answered yet"


def test_ends_older_than_three_cadences_tell_no_lag_and_say_why() -> None:
    told = answers() | {
        ends_key(SOURCE): Answer({PLACE: 100}, NOW - 31, "west regional: refused", NOW - 25),
        reports_key("west"): Answer({ROUTE.name: {}}, NOW),
    }
    found = partition(assembly().snapshot(Answers(told), NOW))
    assert (found.source_end, found.lag_records, found.state) == (100, None, Health.UNKNOWN)
    assert found.why == "west regional: refused, since 07:59:35Z"


def test_ends_of_a_moment_ago_count_although_the_source_is_away_now() -> None:
    told = answers() | {
        ends_key(SOURCE): Answer({PLACE: 100}, NOW - 12, "west regional: refused", NOW - 2),
        ledger_key(ROUTE): Answer(VALUES[ledger_key(ROUTE)], NOW - 13),
        reports_key("west"): Answer(None, None, "west Redis: refused", NOW - 2),
    }
    snapshot = assembly().snapshot(Answers(told), NOW)
    assert partition(snapshot).lag_records == 30
    (route,) = snapshot.routes
    assert route.problems == ("west regional: refused", "west Redis: refused")


def test_ends_that_failed_before_the_entries_were_read_tell_no_lag() -> None:
    caught_up = Entries({PLACE: held(source_offset=100, target_offset=100)})
    told = answers() | {
        ends_key(SOURCE): Answer({PLACE: 100}, NOW - 25, "west regional: refused", NOW - 20),
        ledger_key(ROUTE): Answer(caught_up, NOW),
        reports_key("west"): Answer({ROUTE.name: {}}, NOW),
    }
    found = partition(assembly().snapshot(Answers(told), NOW))
    assert (found.mirrored_to, found.lag_records, found.state) == (100, None, Health.UNKNOWN)
    assert found.why == "west regional: refused, since 07:59:40Z"


def test_a_silent_redis_is_named_and_not_the_carriers() -> None:
    told = answers(NOW + 40) | {
        reports_key("west"): Answer(VALUES[reports_key("west")], NOW, "west Redis: refused", NOW)
    }
    one = assembly()
    one.snapshot(Answers(answers()), NOW)
    found = partition(one.snapshot(Answers(told), NOW + 40))
    assert (found.state, found.why) == (Health.UNKNOWN, "west Redis: refused, since 08:00:00Z")


def test_a_builder_that_fails_leaves_its_fields_out_and_says_so() -> None:
    failures = [KeyError("x")]

    def build(_: Answers, now: float) -> dict[str, object]:
        for failure in failures:
            raise failure
        return {"groups": ()}

    def finish(_: Snapshot) -> dict[str, object]:
        raise ValueError("no such alert")

    good = {"feeds": lambda *_: {"feeds": ()}}
    one = assembly(builders={"groups": build, **good}, finishers={"alerts": finish})
    told = Answers(answers())
    snapshot = one.snapshot(told, NOW)
    assert (snapshot.groups, snapshot.alerts, snapshot.feeds) == (None, None, ())
    assert partition(snapshot).state is Health.OK
    assert snapshot.problems == (
        "this console: groups cannot be shown: KeyError: 'x'",
        "this console: alerts cannot be shown: ValueError: no such alert",
    )
    assert [part.problem_since for part in one.snapshot(told, NOW + 2).parts[-2:]] == [NOW, NOW]
    failures.clear()
    assert one.snapshot(told, NOW + 2).groups == ()
    assert len(one.snapshot(told, NOW + 2).problems) == 1


def test_a_route_that_cannot_be_told_leaves_the_others() -> None:
    both = appliance("east", "west")
    other = next(each for each in both.routes if each.target == "east")
    told = answers() | {reports_key("east"): Answer({}, NOW)}
    routes = assembly(both).snapshot(Answers(told), NOW).routes
    assert {each.why for each in routes if each.target == "east"} == {"its view cannot be made"}
    assert other.name in {each.route for each in routes}
    (own,) = [each for each in routes if each.route == ROUTE.name]
    assert own.lag_records == 10


def test_a_question_that_was_answered_once_for_all_has_no_age() -> None:
    once = Question(key=traffic_key(ROUTE), cadence_seconds=10.0, ask=lambda: {}, is_once=True)
    one = Assembly(ONE, ["west"], [ROUTE], [once])
    told = Answers({once.key: Answer({}, NOW - 3600)})
    assert one.snapshot(told, NOW).parts == ()
    refused = Answers({once.key: Answer(None, None, "west Redis: refused", NOW)})
    assert [part.problem for part in one.snapshot(refused, NOW).parts] == ["west Redis: refused"]


def test_the_topic_on_screen_is_shown_as_it_was_read_last() -> None:
    entries = Entries({PLACE: held(source_offset=95, target_offset=95)})
    shown = {
        focused_ledger_key(ROUTE): FocusedTopic("orders", entries=entries),
        focused_ends_key(ROUTE): FocusedTopic("orders", ends={PLACE: 120}),
    }
    later = {key: Answer(value, NOW + 2) for key, value in shown.items()}
    found = partition(assembly().snapshot(Answers(answers() | later), NOW + 2))
    assert (found.source_end, found.mirrored_to) == (120, 95)
    earlier = {key: Answer(value, NOW - 2) for key, value in shown.items()}
    found = partition(assembly().snapshot(Answers(answers() | earlier), NOW + 2))
    assert (found.source_end, found.mirrored_to) == (100, 90)


def test_earlier_snapshots_tell_trend_stall_and_hour() -> None:
    one = assembly()
    for seconds in (0, 20, 40):
        report = replace(REPORT, at=NOW + seconds, source_end=100 + seconds)
        told = answers(NOW + seconds) | {
            reports_key("west"): Answer({ROUTE.name: {PLACE: report}}, NOW + seconds)
        }
        snapshot = one.snapshot(Answers(told), NOW + seconds)
    found = partition(snapshot)
    assert (found.lag_records, found.lag_per_second, found.drain_seconds) == (50, 1.0, None)
    assert (found.state, found.why) == (Health.STALLED, "no progress for 40 s")
    assert snapshot.routes[0].lag_history[-1] == 30


def test_reports_that_have_expired_name_the_carrier() -> None:
    one = assembly()
    one.snapshot(Answers(answers()), NOW)
    told = answers(NOW + 40) | {reports_key("west"): Answer({ROUTE.name: {}}, NOW + 40)}
    found = partition(one.snapshot(Answers(told), NOW + 40))
    assert (found.state, found.why) == (Health.UNKNOWN, "carrier 3 has said nothing for 40 s")


def test_the_traffic_of_before_begins_the_hour() -> None:
    minute = int(NOW // 60)
    told = answers() | {traffic_key(ROUTE): Answer({minute - 1: 7.0}, NOW)}
    snapshot = assembly().snapshot(Answers(told), NOW)
    assert snapshot.routes[0].rate_history[-2] == 7.0


def test_a_topic_plan_is_made_again_only_after_topics_were_listed_again() -> None:
    made: list[TopicPlan] = []

    def planned(*inputs: Any) -> TopicPlan:
        made.append(plan(*inputs))
        return made[-1]

    one = assembly(plan_topics=planned)
    one.snapshot(Answers(answers()), NOW)
    one.snapshot(Answers(answers(NOW + 2)), NOW + 2)
    assert len(made) == 1
    one.snapshot(Answers(answers() | {topics_key(SOURCE): Answer([*TOPICS], NOW)}), NOW + 4)
    assert len(made) == 2


def test_conditions_of_the_target_explain_a_route_and_are_listed() -> None:
    silent = Condition(
        kind="source-silent",
        who="replicate west",
        text="refused",
        since_ms=int(NOW * 1000),
        cluster="west regional",
    )
    told = answers() | {notices_key("west"): Answer(Notices((silent,)), NOW)}
    snapshot = assembly().snapshot(Answers(told), NOW)
    assert snapshot.conditions == (silent,)
    assert snapshot.routes[0].state is Health.WAITS


def test_conditions_of_a_redis_that_is_silent_explain_nothing_any_more() -> None:
    waits = Condition(
        kind="waiting", who="carrier 1 of west>west", text="no leader", since_ms=1, route=ROUTE.name
    )
    silent = Answer(Notices((waits,)), NOW - 7.0, "west Redis: refused", NOW - 5.0)
    snapshot = assembly().snapshot(Answers(answers() | {notices_key("west"): silent}), NOW)
    assert snapshot.conditions == ()
    assert "no leader" not in partition(snapshot).why
    assert snapshot.regions[0].problems == ("west Redis: refused",)


def test_the_lag_from_which_a_partition_is_behind_is_the_balancers() -> None:
    slow = replace(REPORT, lag_seconds=ONE.balance.lag_seconds_max + 1)
    told = answers() | {reports_key("west"): Answer({ROUTE.name: {PLACE: slow}}, NOW)}
    assert partition(assembly().snapshot(Answers(told), NOW)).state is Health.BEHIND


def test_builders_and_finishers_add_their_fields() -> None:
    def build(_: Answers, now: float) -> dict[str, object]:
        return {"groups": (), COPIES_AGE: {"west": now - NOW + 0.3}}

    def finish(snapshot: Snapshot) -> dict[str, object]:
        return {"alerts": () if snapshot.groups == () and snapshot.parts else None}

    one = assembly(builders={"groups": build}, finishers={"alerts": finish})
    snapshot = one.snapshot(Answers(answers()), NOW)
    assert (snapshot.groups, snapshot.alerts) == ((), ())
    assert snapshot.regions[0].copies_age_seconds == 0.3


def test_loads_are_those_of_the_routes_streams() -> None:
    hot = BalanceAlert(name="hot partition", text="orders-17 takes 0.84 of a carrier")
    other = BalanceAlert(name="frozen", text="orders-3 whatever")
    carriers = (CarrierLoad(number=3, partitions=2, load=0.97), CarrierLoad(number=4, partitions=1))
    streams = (
        StreamView(route=ROUTE.name, stream="default", carriers=carriers, alerts=(hot, other)),
        StreamView(route="east>west", stream="default", carriers=(replace(carriers[0], load=0.1),)),
    )
    assert loads_of(ROUTE, [BalanceView(region="west", streams=streams)]) == Loads(
        {3: 0.97}, {"orders-17": hot.text}
    )
    old = replace(streams[0], is_current=False)
    assert loads_of(ROUTE, [BalanceView(region="west", streams=(old,))]) == Loads({}, {})
