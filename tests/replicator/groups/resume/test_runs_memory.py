"""Pieces in any order, also twice, make one aggregate; newer topics and losses overrule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.groups.progress.skipping import origins
from replicator.groups.resume.runs_memory import PublishedPieces, RunsMemory, Source
from replicator.mirror.offset_map.run_columns import RunsContradict
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from tests.replicator.groups.progress.world import worlds
from tests.replicator.groups.resume.published_runs import piece, publications
from tests.replicator.mirror.offset_map.told_logs import learned

WEST = Source("west", "id")


def published(*runs: Run, source: Source = WEST, losses: int = 0) -> PublishedPieces:
    pieces = tuple(piece(RunSegment(run.source_offset, run.source_end, (run,))) for run in runs)
    return PublishedPieces(source, losses, pieces)


@given(st.data(), worlds())
def test_published_in_any_order_and_twice_every_record_has_its_origin(data, world):
    memory = RunsMemory(world.sources)
    for each in data.draw(publications(world.there, list(world.sources))):
        memory.learn(each)
        if data.draw(st.booleans()):
            memory.learn(each)
    there = memory.aggregate()
    assert set(there.known) == set(world.sources)
    for at, record in enumerate(world.there):
        assert origins(there, at) == [record] * (record is not None)


def test_a_region_without_runs_is_known_to_have_a_route():
    assert RunsMemory(["west", "east"]).aggregate().resume({"west": 0, "east": 0}).offset == 0


def test_trimmed_runs_stay_forgotten_when_they_are_published_again():
    memory = RunsMemory(["west"])
    memory.learn(published(Run(0, 0, 10)))
    memory.trim(6)
    memory.learn(published(Run(0, 0, 10), Run(10, 20, 5)))
    there = memory.aggregate()
    assert [origins(there, at) for at in (5, 6, 20)] == [[], [("west", 6)], [("west", 10)]]


def test_runs_published_after_an_accepted_loss_overrule_the_older_ones():
    memory = RunsMemory(["west"])
    memory.learn(published(Run(0, 0, 10)))
    memory.learn(published(Run(5, 30, 5), losses=1))
    there = memory.aggregate()
    assert [origins(there, at) for at in (4, 6, 31)] == [[("west", 4)], [], [("west", 6)]]


def test_runs_that_contradict_are_refused_and_change_nothing():
    memory = RunsMemory(["west"])
    memory.learn(published(Run(0, 0, 10)))
    with pytest.raises(RunsContradict):
        memory.learn(published(Run(5, 30, 5)))
    assert origins(memory.aggregate(), 9) == [("west", 9)]


@pytest.mark.parametrize("source", [WEST, Source("west", "new")])
@pytest.mark.parametrize("losses", [0, 1])
def test_first_pieces_that_contradict_each_other_change_nothing(source, losses):
    memory = RunsMemory(["west"])
    if source != WEST or losses:
        memory.learn(published(Run(0, 0, 10)))
    before = memory.aggregate()
    with pytest.raises(RunsContradict):
        memory.learn(published(Run(0, 20, 10), Run(5, 40, 5), source=source, losses=losses))
    assert memory.aggregate() == before


def test_an_older_source_topic_is_named_apart():
    memory = RunsMemory(["west"])
    new, old = Source("west", "new"), Source("west", "old")
    memory.learn(published(Run(0, 5, 3), source=new))
    memory.learn(published(Run(0, 0, 4), source=old))
    there = memory.aggregate()
    assert [origins(there, at) for at in (3, 5)] == [[("west/old", 3)], [("west", 0)]]


def test_an_older_source_topic_is_named_also_when_its_records_are_gone():
    gone = learned([RunSegment(0, 4, (Run(0, 0, 4),))])
    gone.trim(4)
    memory = RunsMemory(["west"])
    memory.learn(PublishedPieces(Source("west", "old"), 0, (gone.piece(),)))
    memory.learn(published(Run(0, 5, 3), source=Source("west", "new")))
    assert set(memory.aggregate().known) == {"west", "west/old"}
