"""Positions of one group in all regions, and the worker's lines of JSON.

Plans of real servers are tested live (tests/live/test_group_questions.py).
"""

import io
import json

from balancer.topic_partition import TopicPartition
from replicator.groups.planning.failover_plan import Case, Count, Move
from tests.tui.facts.watch.told import appliance
from tui.facts.group_view import GroupDetail, GroupPosition
from tui.facts.watch.group_lags import Position
from tui.facts.watch.resume_worker import DETAIL, ResumeWorker, positions_of, serve

P0, P1 = TopicPartition("trades", 0), TopicPartition("trades", 1)
MOVE = Move(
    topic="trades",
    partition=0,
    case=Case.MOVES,
    committed=43,
    resume=40,
    basis="floor",
    read_again=Count(3, "at most"),
    target_committed=38,
    notes=("has read all that west held",),
)


def test_a_position_has_every_regions_commit_and_where_the_group_would_resume():
    regions = {"west": {P0: Position(44, 2)}, "north": {P0: Position(7, None)}}
    (found,) = positions_of([MOVE], regions, "west", "east")
    assert found == GroupPosition(
        topic="trades",
        partition=0,
        committed={"west": 44, "east": 38, "north": 7},
        lag={"west": 2},
        resume=40,
        basis="floor",
        read_again=3,
        notes=("has read all that west held",),
    )


def test_of_a_lost_region_the_copied_commits_are_shown():
    (found,) = positions_of([MOVE], {}, "west", "east")
    assert (found.committed, found.lag) == ({"west": 43, "east": 38}, {})


def test_without_a_plan_the_positions_of_the_regions_are_shown():
    found = positions_of([], {"west": {P1: Position(5, 0), P0: Position(3, 1)}}, "west", "east")
    assert [(it.partition, it.committed, it.resume, it.basis) for it in found] == [
        (0, {"west": 3}, None, None),
        (1, {"west": 5}, None, None),
    ]


def test_a_position_that_is_not_mapped_says_why_instead_of_its_basis():
    unknown = Move(topic="trades", partition=1, case=Case.UNKNOWN, committed=5)
    (found,) = positions_of([unknown], {}, "west", "east")
    assert (found.basis, found.resume, found.read_again) == ("unknown", None, None)


def test_every_question_is_answered_with_one_line():
    output = io.BytesIO()
    questions = [json.dumps([f"a\n{number}", "west", "east"]).encode() for number in range(2)]
    serve(questions, output, lambda group, source, target: detail(group, source, target))
    answers = [DETAIL.validate_json(line) for line in output.getvalue().splitlines()]
    assert answers == [detail("a\n0", "west", "east"), detail("a\n1", "west", "east")]


def detail(group, source, target):
    positions = positions_of([MOVE], {}, source, target)
    return GroupDetail(
        group=group, source=source, target=target, worked_out_at=1.5, positions=positions
    )


class NoPositions:
    """Probe of a region in which no group has a position."""

    def __init__(self, admin):
        """Nobody is asked."""

    def positions(self, group):
        return {}


def test_regions_between_which_no_group_can_move_are_a_problem_and_not_an_error():
    worker = ResumeWorker(appliance("west"), 0.5, NoPositions)
    found = worker.detail("billing", "west", "west")
    assert "same region" in found.problem and found.positions == ()
