"""Checks and their levels; test_offset_planner.py has those that a position decides."""

from dataclasses import replace

import pytest

from balancer.topic_partition import TopicPartition
from replicator.groups.planning.checks import AGE_WARN_MS, NAMES_MAX, checks, completeness, named
from replicator.groups.planning.failover_plan import Case, Check, Count, GroupPlan, Level, Move
from replicator.groups.planning.knowledge import Knowledge, PartitionFacts, Request
from replicator.groups.progress.partition_in_region import Known, PartitionInRegion, Passed
from replicator.mirror.offset_map.offset_map import OffsetMap

PARTITION = TopicPartition("trades", 0)
TOLD = PartitionInRegion({"west": Known(OffsetMap(), Passed(0, 0))})
REQUEST = Request(source="west", target="east", reason="", groups=frozenset({"orders"}))
SWITCHOVER = replace(REQUEST, is_planned=True)
KNOWLEDGE = Knowledge(
    commits={},
    target_commits={},
    partitions={PARTITION: PartitionFacts(here=TOLD, there=TOLD)},
    mirrored_topics=frozenset({"trades"}),
    active_in_target=frozenset(),
    active_in_source=frozenset(),
    age_ms=0,
)
MOVE = Move(
    topic="trades",
    partition=0,
    case=Case.MOVES,
    committed=9,
    resume=5,
    basis="exact",
    not_replicated=Count(0),
)


def check(
    name: str,
    *moves: Move,
    request: Request = REQUEST,
    primary_region: str | None = None,
    **changes,
) -> Check:
    groups = [GroupPlan("orders", primary_region, moves)]
    found = checks(request, replace(KNOWLEDGE, **changes), groups)
    (wanted,) = (each for each in found if each.name == name)
    return wanted


def test_with_all_in_order_every_check_passes_and_each_has_a_name_of_its_own():
    found = checks(REQUEST, KNOWLEDGE, [GroupPlan("orders", "west", (MOVE,))])
    assert {each.level for each in found} == {Level.PASS}
    assert len({each.name for each in found}) == len(found)


SHARES = {"prices": "share"}


def test_groups_without_committed_offsets_are_named_where_all_groups_are_asked_for():
    whole = replace(REQUEST, takes_all=True)
    found = check("group types", request=whole, unmovable=SHARES)
    assert found.level is Level.WARN
    assert "prices" in found.text and "not in committed offsets" in found.text
    assert check("group types", unmovable=SHARES).level is Level.PASS
    assert check("group types", request=whole, unmovable=None).level is Level.WARN


def test_a_group_without_committed_offsets_is_held_back_and_no_other_group():
    found = check("group types", unmovable={"orders": "share", "later": "queue"})
    assert (found.level, found.groups) == (Level.BLOCK, ("orders",))
    assert "type share keep" in found.text


@pytest.mark.parametrize(
    ("age_ms", "request_", "level"),
    [
        (AGE_WARN_MS, REQUEST, Level.PASS),
        (AGE_WARN_MS + 1, REQUEST, Level.WARN),
        (None, REQUEST, Level.BLOCK),
        (None, SWITCHOVER, Level.WARN),
    ],
)
def test_old_copies_warn_and_copies_of_unknown_age_block_unless_it_is_planned(
    age_ms, request_, level
):
    assert check("age", request=request_, age_ms=age_ms).level is level


@pytest.mark.parametrize(
    ("active", "request_", "level"),
    [
        (frozenset(), SWITCHOVER, Level.PASS),
        (frozenset({"other"}), SWITCHOVER, Level.PASS),
        (frozenset({"orders"}), SWITCHOVER, Level.BLOCK),
        (frozenset({"orders"}), REQUEST, Level.WARN),
        (None, SWITCHOVER, Level.BLOCK),
        (None, REQUEST, Level.WARN),
    ],
)
def test_a_switchover_needs_groups_that_are_known_to_have_stopped(active, request_, level):
    assert check("source activity", request=request_, active_in_source=active).level is level


def test_a_group_with_members_in_the_target_blocks():
    found = check("target activity", active_in_target=frozenset({"orders", "other"}))
    assert (found.level, found.groups) == (Level.BLOCK, ("orders",))


@pytest.mark.parametrize(
    ("region", "level"), [(None, Level.PASS), ("west", Level.PASS), ("north", Level.WARN)]
)
def test_a_group_that_lives_elsewhere_warns(region, level):
    assert check("primary region", primary_region=region).level is level


def test_going_back_behind_the_targets_own_progress_blocks_unless_the_group_is_named():
    back = replace(MOVE, target_committed=6)
    assert check("progress", replace(MOVE, target_committed=5)).level is Level.PASS
    assert check("progress", back).level is Level.BLOCK
    may = replace(REQUEST, may_go_back=frozenset({"orders"}))
    assert check("progress", back, request=may).level is Level.WARN


def test_a_group_without_a_record_warns_where_it_would_pass_its_own_commits_in_the_target():
    passed = replace(MOVE, target_committed=4)
    found = check("forward", passed)
    assert (found.level, found.groups) == (Level.WARN, ("orders",))
    assert check("forward", passed, primary_region="west").level is Level.PASS
    assert check("forward", replace(MOVE, target_committed=5)).level is Level.PASS


def test_a_group_with_topics_that_were_not_asked_for_blocks():
    found = check("left out", MOVE, topics_left_out={"orders": frozenset({"quotes"})})
    assert (found.level, found.groups) == (Level.BLOCK, ("orders",))
    assert "quotes" in found.text
    assert check("left out", MOVE).level is Level.PASS


def test_a_position_of_which_nothing_is_known_blocks_until_one_is_chosen():
    unknown = replace(MOVE, case=Case.UNKNOWN, resume=None, basis="none")
    assert check("basis", MOVE, unknown).level is Level.BLOCK
    assert check("basis", MOVE, replace(unknown, case=Case.CHOSEN)).level is Level.WARN


def test_the_map_warns_with_its_numbers_unless_all_is_exact():
    moves = [
        MOVE,
        replace(MOVE, basis="floor"),
        replace(MOVE, case=Case.UNKNOWN, basis="none"),
        replace(MOVE, case=Case.GONE, basis="none"),
    ]
    whole = completeness(moves)
    assert (whole.asked, whole.mapped, whole.exact) == (3, 2, 1)
    found = check("map", *moves)
    assert (found.level, found.text) == (Level.WARN, "2 of 3 positions are mapped, 1 exactly")


def test_an_unknown_ledger_warns_with_its_route():
    silent = PartitionFacts(here=PartitionInRegion({"north": Known(OffsetMap())}), there=TOLD)
    found = check("ledger", MOVE, partitions={PARTITION: silent})
    assert found.level is Level.WARN
    assert "north>west (partitions: 1)" in found.text


def test_records_not_replicated_are_summed_over_partitions_and_never_zero_if_unknown():
    some = replace(MOVE, not_replicated=Count(4))
    assert check("replication", some, some).text.startswith("4 known records")
    other = TopicPartition("trades", 1)
    both = {PARTITION: KNOWLEDGE.partitions[PARTITION], other: KNOWLEDGE.partitions[PARTITION]}
    two = check("replication", some, replace(some, partition=1), partitions=both)
    assert two.text.startswith("8 known records")
    unsure = check("replication", replace(MOVE, not_replicated=Count(0, "at least")))
    assert (unsure.level, "does not answer" in unsure.text) == (Level.WARN, True)
    unknown = check("replication", replace(MOVE, not_replicated=None))
    assert (unknown.level, "not known for 1" in unknown.text) == (Level.WARN, True)


def test_unread_offsets_that_retention_took_warn_with_their_number():
    found = check("retention", replace(MOVE, retention_took=3), replace(MOVE, retention_took=4))
    assert found.level is Level.WARN
    assert "up to 7 unread offsets" in found.text


def test_groups_and_partitions_with_nothing_to_move_warn_by_their_names():
    assert "nothing was committed in west: orders" in check("commits").text
    partly = replace(MOVE, case=Case.UNCOMMITTED)
    assert "auto.offset.reset decides" in check("commits", MOVE, partly).text
    gone = check("topics", replace(MOVE, case=Case.NOT_MIRRORED))
    assert (gone.level, gone.text) == (Level.WARN, "not in east: trades-0")


def test_of_many_names_the_first_few_stand_in_a_text():
    assert named({"b", "a"}) == "a, b"
    assert named([f"g{at}" for at in range(NAMES_MAX + 2)]).endswith("g4 and 2 more")
