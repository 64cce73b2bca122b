"""Notices of regions: conditions and cards, asked of each Redis."""

from replicator.notices.condition import Condition
from tests.tui.facts.watch.told import NOW, answered, appliance
from tui.facts.watch.notice_questions import (
    Notices,
    conditions_of,
    known_conditions,
    notice_questions,
    notices_key,
    notices_of,
)
from tui.facts.watch.question import Answer, Answers

OLD = Condition(kind="paused", who="replicate east", text="by alice", since_ms=1)
NEW = Condition(kind="waiting", who="carrier 1 of west>east", text="no leader", since_ms=2)


def test_each_redis_has_one_question_every_two_seconds() -> None:
    asked = notice_questions(appliance("east", "west"), ["east", "west"], 3.0)
    assert [each.key for each in asked] == [notices_key("east"), notices_key("west")]
    assert {each.cadence_seconds for each in asked} == {2.0}


def test_conditions_of_all_regions_are_listed_once_the_oldest_first() -> None:
    told = {
        notices_key("east"): Notices(conditions=(NEW,)),
        notices_key("west"): Notices(conditions=(OLD, NEW)),
    }
    assert conditions_of(answered(told), ["east", "west"], NOW) == (OLD, NEW)


def test_a_region_whose_redis_never_answered_has_no_known_notices() -> None:
    assert notices_of(Answers({}), "east") is None
    assert conditions_of(Answers({}), ["east"], NOW) == ()
    assert known_conditions(Answers({}), "east", NOW) is None


def test_conditions_of_a_silent_redis_count_for_three_cadences_and_are_then_unknown() -> None:
    def told(seconds_ago: float, problem: str | None) -> Answers:
        found = Answer(Notices(conditions=(OLD,)), NOW - seconds_ago, problem, NOW - 1.0)
        return Answers({notices_key("east"): found})

    refused = "Redis at x: refused"
    assert known_conditions(told(5.9, refused), "east", NOW) == (OLD,)
    assert known_conditions(told(6.1, refused), "east", NOW) is None
    assert conditions_of(told(6.1, refused), ["east"], NOW) == ()
    # One look waits for the slowest server.
    assert known_conditions(told(20.0, None), "east", NOW) == (OLD,)
