"""Regions: which servers answer, which daemons run, and which are missing."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.notices.daemon_card import DaemonCard
from tests.tui.facts.watch.told import NOW, answered, appliance
from tui.facts.region_view import RegionView
from tui.facts.watch.admins import Admins
from tui.facts.watch.notice_questions import Notices, notices_key
from tui.facts.watch.question import Answer, Answers, Key
from tui.facts.watch.region_questions import (
    reach_key,
    region_questions,
    region_views,
    roles_with_work,
)

REGIONAL, AGGREGATE = ClusterName.regional("west"), ClusterName.aggregate("west")


def card(role: str, pid: int = 47) -> DaemonCard:
    return DaemonCard(
        role=role, region="west", version="1.0", host="repl-c", pid=pid, since_ms=5, doing="runs"
    )


def view(answers: Answers, configured: Appliance | None = None, **ages: Any) -> RegionView:
    (found,) = region_views(configured or appliance("west"), ["west"], answers, ages)
    return found


def states(region: RegionView) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for daemon in region.daemons:
        found.setdefault(daemon.role, []).append(daemon.state)
    return found


def told(*cards: DaemonCard) -> dict[Key, Any]:
    return {
        notices_key("west"): Notices(cards=cards),
        reach_key(REGIONAL): "id-1",
        reach_key(AGGREGATE): "id-2",
    }


def test_each_cluster_has_a_question_that_needs_no_right() -> None:
    found = appliance("east", "west")
    asked = region_questions(Admins(found, 3.0), found.cluster_names)
    assert [each.key.server for each in asked] == list(found.cluster_names)
    assert {each.cadence_seconds for each in asked} == {10.0}


def test_servers_that_answer_are_ok() -> None:
    region = view(answered(told()))
    assert (region.regional, region.aggregate, region.redis) == ("ok", "ok", "ok")
    assert region.problems == ()


def test_servers_that_never_answered_are_unknown_and_their_daemons_too() -> None:
    region = view(Answers({}))
    assert (region.regional, region.aggregate, region.redis) == ("unknown",) * 3
    assert {each.state for each in region.daemons} == {"unknown"}


def test_a_server_with_a_problem_is_silent_and_the_problem_is_told_once() -> None:
    problem = "west regional: connection refused"
    answers = Answers(
        {
            reach_key(REGIONAL): Answer("id-1", NOW - 60, problem, NOW - 30),
            Key(REGIONAL, "topics"): Answer([], NOW - 60, problem, NOW - 30),
        }
    )
    region = view(answers)
    assert (region.regional, region.aggregate) == ("silent", "unknown")
    assert region.problems == (problem,)


def test_a_right_that_is_lacking_makes_no_cluster_silent() -> None:
    denied = {Key(REGIONAL, "topics"): Answer(None, None, "not authorized", NOW)}
    region = view(Answers({**answered(told()).by_key, **denied}))
    assert (region.regional, region.problems) == ("ok", ("not authorized",))


def test_daemons_that_have_a_card_run_and_others_with_work_are_missing() -> None:
    region = view(answered(told(card("replicate"))))
    assert states(region) == {
        "replicate": ["runs"],
        "balance": ["not configured"],
        "offsets": ["missing"],
        "aggregate": ["not configured"],
        "verify": ["not configured"],
    }
    first = region.daemons[0]
    assert (first.version, first.host, first.pid, first.doing) == ("1.0", "repl-c", 47, "runs")


def test_two_daemons_of_a_role_are_both_shown() -> None:
    region = view(answered(told(card("replicate", 1), card("replicate", 2))))
    assert [each.pid for each in region.daemons if each.role == "replicate"] == [1, 2]


def test_when_redis_is_silent_no_daemon_is_called_missing() -> None:
    silent = Answer(Notices(cards=(card("replicate"),)), NOW - 60, "west Redis: refused", NOW)
    region = view(Answers({notices_key("west"): silent}))
    assert region.redis == "silent"
    assert states(region)["replicate"] == ["unknown"]
    assert states(region)["offsets"] == ["unknown"]
    assert region.daemons[0].host == "repl-c"


def test_a_redis_that_refuses_this_user_is_not_silent_and_its_daemons_are_unknown() -> None:
    denied = "Redis at x: lacks the right: User viewer has no permissions to run 'zrange'"
    region = view(Answers({notices_key("west"): Answer(None, None, denied, NOW)}))
    assert (region.redis, region.problems) == ("no right", (denied,))
    assert states(region)["offsets"] == ["unknown"]


def test_a_balancer_that_was_there_before_is_missing() -> None:
    (region,) = region_views(
        appliance("west"), ["west"], answered(told()), {}, balanced=iter(["west"])
    )
    assert states(region)["balance"] == ["missing"]


@pytest.fixture
def with_a_feed() -> Appliance:
    feed = {
        "region": "west",
        "clusters": ["west aggregate"],
        "shards": [{"topics": ["orders"], "replicas": ["clickhouse://127.0.0.1:9000"]}],
    }
    return appliance("west", feeds={"orders": feed}, balance={"slack": 0.2})


def test_roles_have_work_where_the_configuration_says_so(with_a_feed: Appliance) -> None:
    assert roles_with_work(appliance("west"), "west") == {"replicate", "offsets"}
    assert roles_with_work(with_a_feed, "west") == {
        "replicate",
        "offsets",
        "balance",
        "aggregate",
        "verify",
    }


def test_the_age_of_copies_is_that_of_the_region_which_has_them() -> None:
    assert view(answered(told()), west=0.3).copies_age_seconds == 0.3
    assert view(answered(told())).copies_age_seconds is None
