"""Redis copies that contradict Kafka are not used: no passive group moves past unread records.

A client with write access to a region's Redis can forge copies there. Such a copy may claim that a
group has read more, or that records have other offsets, than the regions' own logs show.
"""

from __future__ import annotations

import logging

import pytest
from redis import Redis

from replicator.groups.offset_sync.due import LATE_MS
from replicator.groups.planning.knowledge import Progress
from replicator.groups.progress.vector_metadata import encode as vector_metadata
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.packed_map import pack_segment
from replicator.mirror.offset_map.run_segment import RunBuffer
from tests.live.test_sync import Scene, scene  # noqa: F401

# ruff: noqa: F811

WHERE_IT_WAS = Progress(0, {"west": 3, "east": 0})


@pytest.fixture
def followed(scene: Scene) -> Scene:
    """A group that has read three records of west, according to all servers."""
    scene.commit(3)
    scene.once()
    assert scene.held() == WHERE_IT_WAS
    return scene


def forge_commit(scene: Scene, offset: int, vector: dict[str, int] | None = None) -> None:
    """Adds a commit to the copy in east's Redis only."""
    named = {scene.regions.name[name]: it for name, it in (vector or {}).items()}
    row = (scene.group, scene.partition, offset, vector_metadata(named) if named else "")
    scene.regions.copied_only("east", "west", [row])


def commit_unseen(scene: Scene, offset: int) -> None:
    """Commits to west's brokers without any copy."""
    scene.regions.commit_uncopied("west", [(scene.group, scene.partition, offset, "")])


def forge_runs(scene: Scene, origin: str, source: int, target: int, count: int) -> None:
    """Replaces the runs of one route into east in east's Redis."""
    route = scene.regions.route(origin, "east")
    forged = RunBuffer(0)
    forged.land(source, target, count)
    with Redis.from_url(scene.regions.url("east")) as client:
        client.delete(*client.scan_iter(f"sluice:runs:{route.key}:*"))
    with OffsetStore(scene.regions.url("east"), route.key) as store:
        key = scene.regions.key(origin, "east", scene.partition)
        store.copy(key, [pack_segment(each) for each in forged.take()])


@pytest.mark.parametrize(
    ("offset", "vector"),
    [pytest.param(14, None, marks=pytest.mark.core), (3, {"west": 10, "east": 5})],
)
def test_a_commit_that_the_groups_own_region_does_not_have_moves_nothing(
    followed, offset, vector, caplog
):
    forge_commit(followed, offset, vector)
    with caplog.at_level(logging.WARNING):
        followed.once()
        followed.once()
    assert followed.held() == WHERE_IT_WAS
    assert followed.sync.counts.refused == 1
    said = [line for line in caplog.messages if line.startswith("event=copies-contradict ")]
    assert len(said) == 1
    assert followed.group in said[0] and f"{followed.partition.topic}-0" in said[0]


def test_once_the_commit_is_in_its_own_regions_log_the_group_follows_it(followed, caplog):
    forge_commit(followed, 14)
    followed.once()
    commit_unseen(followed, 14)
    with caplog.at_level(logging.WARNING):
        followed.once()
        assert followed.held() == WHERE_IT_WAS
        followed.once(LATE_MS)
    assert followed.held() == Progress(4, {"west": 10, "east": 4})
    assert followed.sync.counts.refused == 0
    assert any(line.startswith("event=copies-agree ") for line in caplog.messages)


@pytest.mark.parametrize(
    ("source", "target"),
    [(0, 9), (0, 900)],
    ids=["behind what the ledger passed", "beyond the log's end"],
)
def test_runs_that_contradict_this_regions_ledger_move_nothing(followed, source, target, caplog):
    """The group has read nothing of east, whose records have offsets 0 to 4 here."""
    forge_runs(followed, "east", source, target, 5)
    followed.commit(4)
    with caplog.at_level(logging.WARNING):
        followed.once()
    assert followed.held() == WHERE_IT_WAS
    assert followed.sync.counts.refused == 1
    assert any(line.startswith("event=copies-contradict ") for line in caplog.messages)


def test_a_region_whose_brokers_do_not_answer_is_followed_by_its_copies(followed):
    followed.west.is_silent = True
    followed.commit(14)
    followed.once()
    assert followed.held() == Progress(4, {"west": 10, "east": 4})
