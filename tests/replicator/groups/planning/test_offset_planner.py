"""Plans made from values agree with a replay of both logs; then case by case."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from balancer.topic_partition import TopicPartition
from replicator.groups.planning.failover_plan import (
    VALID_MS,
    Case,
    Count,
    Level,
    Move,
    Plan,
    decode,
    encode,
)
from replicator.groups.planning.knowledge import (
    Choice,
    Knowledge,
    LogRange,
    PartitionFacts,
    Progress,
    Request,
)
from replicator.groups.planning.offset_planner import plan
from replicator.groups.progress.partition_in_region import (
    Known,
    PartitionInRegion,
    Passed,
    basis_of,
    vector_of,
)
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from tests.replicator.groups.progress.world import (
    aggregates,
    exact_vector,
    oracle,
    progress,
    read,
    worlds,
)
from tests.replicator.mirror.offset_map.told_logs import learned

PARTITION = TopicPartition("trades", 0)
REQUEST = Request(source="west", target="east", reason="drill", groups=frozenset({"orders"}))


def known(*runs: Run, passed: Passed | None = None) -> Known:
    told = learned([RunSegment(0, runs[-1].source_end, runs)])
    return Known(told, passed or Passed(runs[-1].source_end, runs[-1].target_end))


# Three regions. West's records come first here, and last there.
HERE = PartitionInRegion(
    {"west": known(Run(0, 0, 10)), "east": known(Run(0, 10, 5)), "north": known(Run(0, 15, 5))}, 20
)
THERE = PartitionInRegion(
    {"west": known(Run(0, 10, 10)), "east": known(Run(0, 0, 5)), "north": known(Run(0, 5, 5))}, 20
)
FACTS = PartitionFacts(
    here=HERE, there=THERE, here_start=0, there_log=LogRange(0, 20), source_end=10
)
UNTOLD = replace(FACTS, here=replace(HERE, known={**HERE.known, "north": Known(OffsetMap())}))


def knowledge(
    facts: PartitionFacts | None = FACTS, committed: int | None = 12, **changes
) -> Knowledge:
    return replace(
        Knowledge(
            commits={"orders": {} if committed is None else {PARTITION: Progress(committed)}},
            target_commits={},
            partitions={} if facts is None else {PARTITION: facts},
            mirrored_topics=frozenset({"trades"}),
            active_in_target=frozenset(),
            active_in_source=frozenset(),
            age_ms=900,
            primary_regions={"orders": "west"},
        ),
        **changes,
    )


def planned(known: Knowledge, request: Request = REQUEST) -> Plan:
    made = plan(request, known, plan_id="p1", now_ms=1_000)
    assert decode(encode(made)) == made
    return made


def only_move(known: Knowledge, request: Request = REQUEST) -> Move:
    ((_, move),) = planned(known, request).moves()
    return move


def blocks(made: Plan) -> list[str]:
    return [check.name for check in made.blocks]


@given(st.data(), worlds(2, 4))
def test_a_group_goes_on_where_progress_and_resume_say_and_skips_nothing(data, world):
    regions = list(world.sources)
    here = data.draw(aggregates(world.here, regions))
    there = data.draw(aggregates(world.there, regions))
    committed = data.draw(st.integers(0, len(world.here)))
    log = LogRange(0, len(world.there))
    move = only_move(knowledge(PartitionFacts(here=here, there=there, there_log=log), committed))
    partitions = progress(here, committed)
    expected = partitions and there.resume(vector_of(partitions))
    assert (move.case is Case.MOVES) == bool(expected)
    assert move.resume == (expected.offset if expected else None)
    if not partitions or not expected:
        assert (move.case, move.basis) == (Case.UNKNOWN, "none")
        return
    assert move.vector == vector_of(partitions)
    unread = set(filter(None, world.there)) - read(world.here, committed)
    assert not unread & set(world.there[: move.resume])
    is_exact = expected.basis == basis_of(partitions) == "exact"
    assert (move.basis == "exact") == is_exact
    if is_exact:
        assert move.resume == oracle(world, exact_vector(world, committed))


@given(st.data(), worlds(2, 4))
def test_nothing_that_the_target_still_holds_is_skipped_and_its_losses_are_counted(data, world):
    regions = list(world.sources)
    here = data.draw(aggregates(world.here, regions))
    there = data.draw(aggregates(world.there, regions))
    committed = data.draw(st.integers(0, len(world.here)))
    here_start = data.draw(st.integers(0, len(world.here)))
    start = data.draw(st.integers(0, len(world.there)))
    # Maps are trimmed some time after their logs are.
    for aggregate, trimmed in ((here, here_start), (there, start)):
        for each in aggregate.known.values():
            each.runs.trim(data.draw(st.integers(0, trimmed)))
    log = LogRange(start, len(world.there))
    move = only_move(
        knowledge(
            PartitionFacts(here=here, there=there, here_start=here_start, there_log=log), committed
        )
    )
    if move.resume is None:
        return
    unread = set(filter(None, world.there)) - read(world.here, committed)
    assert move.resume >= start
    assert not unread & set(world.there[start : move.resume])
    # A record without a run was lost below the map's start or the log's.
    lost = unread & set(world.there[:start])
    assert move.retention_took >= len(lost - set(world.there[move.resume :]))


def test_a_plan_for_three_regions_has_a_vector_of_each_and_resumes_at_the_smallest_offset():
    made = planned(knowledge())
    (move,) = made.groups[0].moves
    assert move == Move(
        topic="trades",
        partition=0,
        case=Case.MOVES,
        committed=12,
        resume=2,
        basis="exact",
        read_again=Count(10),
        not_replicated=Count(0),
        vector={"west": 10, "east": 2, "north": 0},
    )
    assert (made.source, made.target, made.reason, made.age_ms) == ("west", "east", "drill", 900)
    assert (made.created_at_ms, made.expires_at_ms) == (1_000, 1_000 + VALID_MS)
    assert {check.level for check in made.checks} == {Level.PASS}
    assert made.groups[0].primary_region == "west"


def test_an_expiry_of_ones_own_is_kept():
    made = plan(REQUEST, knowledge(), plan_id="p1", now_ms=5, valid_ms=10)
    assert made.expires_at_ms == 15


def test_a_group_without_commits_is_named_and_has_nothing_to_move():
    made = planned(knowledge(committed=None))
    assert made.groups[0].group == "orders"
    assert not made.groups[0].moves
    assert not blocks(made)
    (check,) = (check for check in made.checks if check.name == "commits")
    assert check.level is Level.WARN
    assert "orders" in check.text


def test_partitions_of_its_topics_where_a_group_committed_nothing_are_named():
    other = TopicPartition("trades", 1)
    elsewhere = TopicPartition("quotes", 0)
    facts = {PARTITION: FACTS, other: FACTS, elsewhere: FACTS}
    made = planned(knowledge(partitions=facts, mirrored_topics=frozenset({"trades", "quotes"})))
    assert [(move.partition, move.case) for _, move in made.moves()] == [
        (0, Case.MOVES),
        (1, Case.UNCOMMITTED),
    ]
    assert made.completeness.asked == 1


def test_a_commit_on_a_partition_that_is_not_in_the_target_stays_and_is_named():
    for facts in (None, replace(FACTS, there_log=None)):
        made = planned(knowledge(facts))
        ((_, move),) = made.moves()
        assert (move.case, move.resume, move.basis) == (Case.GONE, None, "none")
        assert "no such partition" in move.notes[0]
        assert not blocks(made)


def test_a_commit_on_a_topic_that_is_not_mirrored_stays_and_is_named():
    made = planned(knowledge(mirrored_topics=frozenset()))
    ((_, move),) = made.moves()
    assert (move.case, move.resume, move.basis) == (Case.NOT_MIRRORED, None, "none")
    assert "not mirrored" in move.notes[0]
    assert not blocks(made)


def test_a_commit_at_the_logs_end_resumes_behind_all_records_with_a_note():
    move = only_move(knowledge(committed=20))
    assert (move.resume, move.basis, move.read_again) == (20, "exact", Count(0))
    assert move.notes == ("has read all that west held",)


def test_a_commit_behind_the_logs_end_needs_a_choice_and_blocks_only_its_group():
    """It was taken for a group that has read all, and moved behind all records of the target."""
    lost = {PARTITION: Progress(25, {"west": 10})}
    both = knowledge(commits={"orders": {PARTITION: Progress(12)}, "audit": lost})
    request = replace(REQUEST, groups=frozenset({"orders", "audit"}))
    made = planned(both, request)
    moves = dict(made.moves())
    assert (moves["orders"].case, moves["orders"].resume) == (Case.MOVES, 2)
    assert (moves["audit"].case, moves["audit"].resume) == (Case.UNKNOWN, None)
    assert "5 offsets behind the log's end in west" in moves["audit"].notes[0]
    assert [check.groups for check in made.checks if check.name == "basis"] == [("audit",)]
    chosen = replace(request, choices={"audit": Choice()})
    move = dict(planned(both, chosen).moves())["audit"]
    assert (move.case, move.resume, move.vector) == (Case.CHOSEN, 0, {})


def test_a_commit_below_the_logs_start_is_noted_and_needs_a_choice_once_runs_are_gone():
    facts = replace(FACTS, here_start=15)
    move = only_move(knowledge(facts))
    assert (move.resume, move.basis) == (2, "exact")
    assert "was 3 offsets below the log's start" in move.notes[0]
    trimmed = {}
    for region, each in HERE.known.items():
        runs = OffsetMap()
        runs.join([each.runs.piece()])
        runs.trim(15)
        trimmed[region] = Known(runs, each.passed)
    made = planned(knowledge(replace(facts, here=PartitionInRegion(trimmed, 20))))
    ((_, move),) = made.moves()
    assert (move.case, move.resume, move.basis) == (Case.UNKNOWN, None, "none")
    assert "too little is known of the records of" in move.notes[-1]
    assert blocks(made) == ["basis"]


def test_a_resume_below_the_targets_log_start_is_raised_to_it_and_the_loss_is_noted():
    made = planned(knowledge(replace(FACTS, there_log=LogRange(6, 20))))
    ((_, move),) = made.moves()
    assert (move.resume, move.basis, move.retention_took) == (6, "exact", 4)
    assert move.notes == ("retention in east took up to 4 unread offsets",)
    (check,) = (check for check in made.checks if check.name == "retention")
    assert check.level is Level.WARN
    assert "4 unread offsets" in check.text


def test_a_resume_behind_the_targets_log_end_goes_back_to_it():
    move = only_move(knowledge(replace(FACTS, there_log=LogRange(0, 18)), committed=20))
    assert (move.resume, move.basis) == (18, "floor")
    assert "ends at 18" in move.notes[-1]


def test_where_nothing_is_known_of_one_region_it_is_named_and_only_a_choice_moves_the_group():
    known_facts = knowledge(UNTOLD, offsets_at={1_700: {PARTITION: 7}})
    made = planned(known_facts)
    ((_, move),) = made.moves()
    assert (move.case, move.resume, move.basis) == (Case.UNKNOWN, None, "none")
    assert move.vector == {"west": 10, "east": 2}
    assert "north" in move.notes[0]
    assert (made.completeness.asked, made.completeness.mapped) == (1, 0)
    assert blocks(made) == ["basis"]
    for choice, resume in ((Choice(), 0), (Choice(1_700), 7)):
        made = planned(known_facts, replace(REQUEST, choices={"orders": choice}))
        ((_, move),) = made.moves()
        assert (move.case, move.resume, move.basis) == (Case.CHOSEN, resume, "none")
        assert move.read_again is None
        assert not blocks(made)
    late = replace(REQUEST, choices={"orders": Choice(1_701)})
    assert blocks(planned(known_facts, late)) == ["basis"]


def test_only_the_topics_that_were_asked_for_are_moved():
    other = TopicPartition("quotes", 0)
    both = knowledge(
        commits={
            "orders": {PARTITION: Progress(12), other: Progress(12)},
            "unasked": {PARTITION: Progress(3)},
        },
        partitions={PARTITION: FACTS, other: FACTS},
        mirrored_topics=frozenset({"trades", "quotes"}),
    )
    asked = planned(both, replace(REQUEST, topics=frozenset({"quotes"})))
    assert [(group, move.topic) for group, move in asked.moves()] == [("orders", "quotes")]
    assert [move.topic for _, move in planned(both).moves()] == ["quotes", "trades"]


def test_a_vector_in_the_metadata_counts_where_the_position_says_less():
    # The group moved here. Records that it read elsewhere lie behind its position, or are not here.
    commit = Progress(12, {"west": 4, "north": 5, "south": 3})
    move = only_move(knowledge(commits={"orders": {PARTITION: commit}}))
    assert move.vector == {"west": 10, "east": 2, "north": 5, "south": 3}
    assert (move.committed, move.resume, move.basis) == (12, 2, "exact")
    assert move.read_again == Count(15)
    told = only_move(knowledge(UNTOLD, commits={"orders": {PARTITION: commit}}))
    assert (told.case, told.resume, told.basis) == (Case.MOVES, 2, "floor")


def test_metadata_of_the_application_stands_in_the_plan_beside_the_vector():
    commit, held = Progress(12, {"west": 4}, "its times"), Progress(1, {}, "older times")
    move = only_move(
        knowledge(
            commits={"orders": {PARTITION: commit}}, target_commits={"orders": {PARTITION: held}}
        )
    )
    assert (move.metadata, move.target_metadata) == ("its times", "older times")
    assert move.vector["west"] == 10


def test_after_an_accepted_loss_a_vector_does_not_count_for_that_region():
    lossy = replace(THERE, known={**THERE.known, "north": replace(THERE.known["north"], losses=1)})
    commit = Progress(12, {"west": 11, "north": 5})
    move = only_move(
        knowledge(replace(FACTS, there=lossy), commits={"orders": {PARTITION: commit}})
    )
    assert move.vector == {"west": 11, "east": 2}


def test_notes_on_a_partition_are_in_the_moves_of_its_groups():
    move = only_move(knowledge(replace(FACTS, notes=("the route north>west is parked",))))
    assert "the route north>west is parked" in move.notes


def test_a_move_has_the_groups_present_commit_in_the_target():
    move = only_move(knowledge(target_commits={"orders": {PARTITION: Progress(7)}}))
    assert (move.resume, move.target_committed, move.goes_back) == (2, 7, True)


def test_without_the_source_the_copies_count_what_is_not_replicated():
    there = replace(THERE, known={**THERE.known, "west": known(Run(0, 10, 6))})
    move = only_move(knowledge(replace(FACTS, there=there, source_end=None)))
    assert move.not_replicated == Count(4, "at least")
    assert move.read_again == Count(10, "at most")
