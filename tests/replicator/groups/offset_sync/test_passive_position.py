"""Positions written for a group that lives elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from balancer.topic_partition import TopicPartition
from replicator.groups.offset_sync.passive_position import LastWritten, is_settled, to_write
from replicator.groups.planning.failover_plan import Case, Move
from replicator.groups.planning.knowledge import Progress

PARTITION = TopicPartition("trades", 0)


def move(resume: int | None = 40, basis="exact", committed=50, case=Case.MOVES, **vector: int):
    return Move(
        topic="trades",
        partition=0,
        case=case,
        committed=committed,
        resume=resume,
        basis=basis,
        vector=vector or {"west": 30},
    )


def written(each: Move, held: Progress | None = None, last_written: LastWritten | None = None):
    return to_write(
        [each],
        {PARTITION: held} if held else {},
        {PARTITION: last_written} if last_written else {},
    ).get(PARTITION)


def test_a_position_that_differs_in_offset_or_vector_is_written():
    wanted = Progress(40, {"west": 30})
    assert written(move()) == wanted
    assert written(move(), Progress(39, {"west": 30})) == wanted
    assert written(move(), Progress(40)) == wanted
    assert written(move(), wanted) is None


def test_positions_that_stand_here_are_written_again_before_the_brokers_forget_them():
    stands = Progress(40, {"west": 30})
    unknown = move(None, "none", case=Case.UNKNOWN)
    gone = move(None, "none", case=Case.GONE)
    held = {PARTITION: stands}
    assert to_write([move()], held, {}, renews=True) == held
    assert to_write([unknown], held, {}, renews=True) == held
    assert to_write([unknown], {}, {}, renews=True) == {}
    assert to_write([gone], held, {}, renews=True) == {}


def test_metadata_of_the_application_that_differs_is_written():
    timed = replace(move(), metadata="its times")
    wanted = Progress(40, {"west": 30}, "its times")
    assert written(timed, Progress(40, {"west": 30})) == wanted
    assert written(timed, wanted) is None
    # Less is known than before, so that the larger offset stays; the metadata is today's.
    before = LastWritten(50, Progress(41, {"west": 30}, "older times"))
    floor = replace(timed, basis="floor")
    assert written(floor, before.written, before) == Progress(41, {"west": 30}, "its times")


@pytest.mark.parametrize("case", [Case.UNKNOWN, Case.GONE, Case.NOT_MIRRORED, Case.UNCOMMITTED])
def test_where_nothing_is_known_or_there_is_nothing_to_go_to_nothing_is_written(case):
    assert written(move(None, "none", case=case), Progress(7)) is None


@pytest.mark.parametrize("basis", ["exact", "floor"])
def test_a_group_that_was_rewound_where_it_lives_goes_back_here(basis):
    before = LastWritten(50, Progress(40, {"west": 30}))
    rewound = move(10, basis, committed=20, west=5)
    assert written(rewound, before.written, before) == Progress(10, {"west": 5})


def test_knowing_less_than_before_takes_nothing_back():
    before = LastWritten(50, Progress(40, {"west": 30, "east": 4}))
    less = move(10, "floor", west=5, east=0)
    assert written(less, before.written, before) is None
    on = move(10, "floor", committed=51, west=31, east=0)
    assert written(on, before.written, before) == Progress(40, {"west": 31, "east": 4})


def test_a_vector_entry_of_a_region_that_no_longer_counts_is_not_written_again():
    before = LastWritten(50, Progress(40, {"west": 30, "east": 4}))
    lossy = move(10, "floor", committed=51, east=3)
    assert written(lossy, before.written, before) == Progress(10, {"east": 3})


def test_a_commit_by_another_client_here_is_overruled():
    before = LastWritten(50, Progress(40, {"west": 30}))
    assert written(move(), Progress(99), before) == Progress(40, {"west": 30})
    assert written(move(10, "floor", west=5), Progress(99), before) == Progress(10, {"west": 5})


def test_after_a_restart_the_groups_commit_in_its_own_region_counts():
    held = Progress(40, {"west": 30})
    assert written(move(10, "floor", west=5), held) == Progress(10, {"west": 5})


@pytest.mark.parametrize(
    ("each", "expected"),
    [
        (move(), True),
        (move(100), False),
        (move(basis="floor"), False),
        (move(None, "none", case=Case.UNKNOWN), False),
        (move(None, "none", case=Case.UNCOMMITTED, committed=None), True),
        (move(None, "none", case=Case.NOT_MIRRORED), True),
    ],
)
def test_it_is_settled_where_an_unread_record_stands(each, expected):
    assert is_settled([each], {PARTITION: 100}) is expected
