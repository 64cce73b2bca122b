"""Questions about groups, and the lag that their answers give."""

from __future__ import annotations

from dataclasses import replace

import pytest

from balancer.topic_partition import TopicPartition
from replicator.groups.membership.primary_region import decided
from replicator.kafka.protocol.group_list import ListedGroup
from tests.tui.facts.watch.told import NOW, NOW_MS, answered, appliance
from tui.facts.group_view import GroupList
from tui.facts.watch.admins import Admins
from tui.facts.watch.group_lags import GroupLag, lag_of
from tui.facts.watch.group_probe import probed_groups
from tui.facts.watch.group_questions import (
    StoredGroups,
    active_by_region,
    copies_age_in,
    copies_age_of,
    decisions_key,
    group_fields,
    group_questions,
    groups_of,
    lags_key,
    logs_of,
    members_key,
    stored_key,
)
from tui.facts.watch.question import NO_ANSWER, Answer, Answers, Question

# --- Groups of two regions, from answers of Redis servers and clusters that may be missing.

BOTH = appliance("east", "west")
RECORD = decided(None, "billing", "west", at_ms=NOW_MS - 60_000, who="ann@ops", why="the bank")


def stored(records=(), active=None, copied_ms=NOW_MS - 300, other="west"):
    return StoredGroups(
        {it.group: it for it in records}, active or {}, {other: copied_ms} if other else {}
    )


def listed(*names, type_="consumer", state="Stable"):
    return {name: ListedGroup(name, type_, state) for name in names}


def healthy(**members):
    """Returns answers of all servers; each keyword lists a region's groups with members."""
    return {
        stored_key("east"): stored([RECORD]),
        stored_key("west"): stored([RECORD], other="east"),
        members_key("east"): listed(*members.get("east", ())),
        members_key("west"): listed("sluice.map", *members.get("west", ())),
        lags_key("east"): {"billing": GroupLag(3, 2)},
        lags_key("west"): {"billing": GroupLag(5, 2, ("orders", "trades"))},
        decisions_key("east"): {},
        decisions_key("west"): {"billing": RECORD},
    }


def group(values, seconds_ago=1.0, name="billing"):
    found = groups_of(BOTH, answered(values, seconds_ago), NOW)
    return next(each for each in found if each.group == name)


def test_a_group_has_its_primary_region_members_lags_and_the_age_of_its_copies():
    found = group(healthy(west=["billing"]))
    assert (found.primary, found.has_record, found.members, found.unknown) == (
        "west",
        True,
        ("west",),
        (),
    )
    assert (found.lag, found.partitions) == ({"east": 3, "west": 5}, 2)
    assert found.topics == ("orders", "trades")
    assert found.copies_age_seconds == pytest.approx(0.3)
    assert (found.who, found.why, found.decided_at_ms) == ("ann@ops", "the bank", NOW_MS - 60_000)
    assert (found.generation, found.previous, found.type) == (1, None, "consumer")
    assert not found.is_out_of_place and not found.is_active_twice


def test_groups_of_sluice_itself_are_left_out():
    names = [each.group for each in groups_of(BOTH, answered(healthy(west=["a"])), NOW)]
    assert names == ["a", "billing"]


def test_a_group_with_members_outside_its_primary_region_is_out_of_place():
    found = group(healthy(east=["billing"]))
    assert found.is_out_of_place and not found.is_active_twice
    assert group(healthy(east=["billing"], west=["billing"])).is_active_twice


def test_a_group_whose_record_names_no_region_any_more_is_never_out_of_place():
    free = decided(RECORD, "billing", None, at_ms=NOW_MS, who="bob@ops", why="both")
    values = healthy(east=["billing"], west=["billing"]) | {
        decisions_key("west"): {"billing": free}
    }
    found = group(values)
    assert (found.primary, found.has_record, found.previous) == (None, True, "west")
    assert not found.is_out_of_place and not found.is_active_twice


def test_a_group_without_members_has_its_type_and_one_of_a_lost_region_that_of_its_redis():
    values = healthy() | {members_key("west"): listed("idle", type_="share", state="Empty")}
    values[stored_key("east")] = replace(stored([RECORD]), types={"lost": "share"})
    assert (group(values, name="idle").members, group(values, name="idle").type) == ((), "share")
    assert (group(values, name="lost").type, group(values).type) == ("share", None)


def test_a_group_that_is_asked_for_is_there_though_nothing_is_known_of_it():
    (found,) = groups_of(BOTH, answered(healthy()), NOW, ["mails"])
    assert (found.group, found.has_record, found.members) == ("mails", False, ())
    (found,) = groups_of(BOTH, Answers({}), NOW, ["mails"])
    assert (found.has_record, found.unknown) == (None, ("east", "west"))


def test_members_that_a_cluster_was_not_asked_for_are_those_that_are_published():
    values = healthy() | {members_key("west"): None, decisions_key("west"): None}
    values[stored_key("east")] = stored([RECORD], {"west": frozenset({"billing"})})
    assert (group(values).members, group(values).unknown) == (("west",), ())


def test_before_any_answer_groups_are_not_known_and_no_groups_are_an_empty_tuple():
    assert groups_of(BOTH, Answers({}), NOW) is None
    assert groups_of(BOTH, answered({stored_key("east"): stored()}), NOW) == ()
    assert group_fields(BOTH)(Answers({}), NOW) == {"groups": None}


def test_without_any_record_store_a_group_is_not_said_to_live_anywhere():
    found = group({members_key("east"): listed("billing")})
    assert (found.primary, found.has_record) == (None, None)
    assert found.unknown == ("west",)


def test_a_decision_that_is_in_one_log_only_counts_by_its_generation():
    later = decided(RECORD, "billing", "east", at_ms=NOW_MS, who="bob@ops", why="back")
    found = group(healthy() | {decisions_key("east"): {"billing": later}})
    assert (found.primary, found.who) == ("east", "bob@ops")


def test_members_of_a_silent_region_are_those_that_it_published_in_a_redis():
    values = healthy()
    del values[members_key("west")]
    values[stored_key("east")] = stored([RECORD], {"west": frozenset({"billing"})})
    assert group(values).members == ("west",)
    assert group(values).unknown == ()


def test_members_that_are_older_than_three_questions_are_not_known():
    at = {key: Answer(value, NOW - 31) for key, value in healthy(west=["billing"]).items()}
    (found,) = groups_of(BOTH, Answers(at), NOW) or ()
    assert (found.members, found.unknown) == ((), ("east", "west"))
    assert found.lag == {"east": 3, "west": 5}
    assert active_by_region(BOTH, Answers({stored_key("east"): NO_ANSWER}), NOW) == {}


def test_lag_and_age_of_copies_that_are_not_known_are_not_zero():
    values = healthy()
    values[lags_key("west")] = {"billing": GroupLag(None, 2)}
    values[stored_key("east")] = stored([RECORD], copied_ms=None)
    found = group(values)
    assert (found.lag, found.partitions, found.copies_age_seconds) == ({"east": 3}, 2, None)


def test_where_a_group_has_committed_nothing_its_lag_is_not_known():
    assert group(healthy() | {lags_key("east"): {"billing": GroupLag(0, 0)}}).lag == {"west": 5}


def test_copies_of_a_group_without_a_primary_region_are_as_old_as_the_oldest_of_all():
    values = healthy(east=["a"])
    values[stored_key("west")] = stored(other="east", copied_ms=NOW_MS - 9000)
    assert group(values, name="a").copies_age_seconds == pytest.approx(9.0)


def test_ages_of_copies_are_by_the_region_copied_and_by_the_region_that_holds_them():
    three = appliance("east", "north", "west")
    ages = {"east": (1000, 2000), "north": (3000, None), "west": (4000, 5000)}
    values = {
        stored_key(holder): StoredGroups(
            {},
            {},
            {
                source: None if age is None else NOW_MS - age
                for source, age in zip([it for it in ages if it != holder], some, strict=True)
            },
        )
        for holder, some in ages.items()
    }
    told = answered(values)
    assert copies_age_of(three, told, "east", NOW) == pytest.approx(4.0)
    assert copies_age_of(three, told, "west", NOW) is None
    assert copies_age_in(three, told, "west", NOW) == pytest.approx(5.0)
    alone = appliance("west")
    assert copies_age_of(alone, told, "west", NOW) is None


def test_every_region_is_asked_by_redis_often_and_by_kafka_rarely():
    questions = group_questions(Admins(BOTH, 5.0))
    by_key = {each.key: each for each in questions}
    assert len(by_key) == len(questions) == 8
    assert by_key[stored_key("west")].cadence_seconds == 2.0
    assert by_key[members_key("west")].cadence_seconds == 10.0
    assert by_key[lags_key("west")].needs == (members_key("west"),)
    assert by_key[lags_key("west")].cluster == BOTH.region("west").aggregate


# --- Logs whose copies a failover needs; tests/live/test_group_questions.py has their ages.


def test_a_failover_needs_the_commits_of_a_region_and_the_runs_of_the_routes_into_it():
    assert logs_of(appliance("east", "west"), "west") == (
        "commits:west",
        "runs:east.west",
        "runs:west.west",
    )


# --- Lag of a group, by its commits and the ends of the logs.

ENDS = {TopicPartition("orders", 0): 10, TopicPartition("orders", 1): 20}


def test_the_lag_is_the_sum_of_all_partitions_with_a_commit():
    assert lag_of({"orders": [(0, 7), (1, 20)]}, ENDS) == GroupLag(3, 2, ("orders",))
    assert lag_of({}, ENDS) == GroupLag(0, 0)


def test_a_commit_beyond_the_end_does_not_make_up_for_another_partition():
    assert lag_of({"orders": [(0, 15), (1, 18)]}, ENDS) == GroupLag(2, 2, ("orders",))


def test_one_unknown_end_makes_the_lag_unknown():
    assert lag_of({"orders": [(0, 7), (2, 5)]}, ENDS) == GroupLag(None, 2, ("orders",))


# --- Probe of groups in one region: servers are asked only for what its Redis has not told.

DECISION = decided(None, "billing", "west", at_ms=1, who="ann@ops", why="the bank")
TOLD = StoredGroups(
    records={"billing": DECISION},
    active={"east": frozenset({"billing"}), "west": frozenset({"orders"})},
    copied_up_to_ms={},
    decided=frozenset({"east"}),
    types={"shared": "share"},
)


def probed(told: StoredGroups, *names: str) -> GroupList:
    """Returns the groups of west when no cluster accepts connections."""
    redis = Question(key=stored_key("west"), cadence_seconds=1.0, ask=lambda: told)
    return probed_groups(BOTH, "west", 5.0, names, redis)


def test_another_region_whose_members_and_decisions_redis_has_is_not_asked():
    found = probed(TOLD)
    assert [it.split(":")[0] for it in found.problems] == ["west aggregate"]
    billing, shared = found.groups
    assert (billing.group, billing.members, billing.is_out_of_place) == ("billing", ("east",), True)
    assert (shared.group, shared.type) == ("shared", "share")


def test_another_region_is_asked_for_what_redis_lacks():
    asked = [f"{region} aggregate" for region in ("east", "west")]
    for lacking in (replace(TOLD, active={}), replace(TOLD, decided=frozenset())):
        assert [it.split(":")[0] for it in probed(lacking).problems] == asked


def test_of_its_own_region_members_in_redis_count_for_nothing():
    found = probed(TOLD, "orders")
    assert found.silent_regions == ("west",)
    assert found.groups[0].members == ()
