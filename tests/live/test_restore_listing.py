"""`sluice restore --from-listing`: a topic is there again from the bucket alone."""

from __future__ import annotations

import signal

import pytest

from tests.live.restore_steps import Step, begin_with_end
from tests.live.test_feed_kills import await_death
from tests.live.test_restore import (
    PARTITIONS,
    SMALL,
    assert_translated,
    assert_whole,
    content,
    lake,
    log_ends,
    new_topic,
    restore,
    stage,
    target,
    words,
)
from tui.commands.exit_codes import ExitCode

__all__ = ["lake", "stage", "target"]  # fixtures


@pytest.fixture
def lost(lake, tmp_path):
    """The feed in a configuration whose source cluster does not answer; the other one does."""
    config = tmp_path / "lost.toml"
    regional, aggregate = "regional.bootstrap", "aggregate.bootstrap"
    text = lake.config.read_text().replace(regional, "other").replace(aggregate, regional)
    config.write_text(text.replace("other", aggregate))
    return ["--config", str(config), "--into", "east regional"]


def test_a_topic_whose_cluster_is_lost_is_restored_from_the_bucket_alone(lake, target, lost):
    code, _, said = restore(lake, target, *lost, "--dry-run", "--timeout=3")
    assert (code, "127.0.0.1:1" in said) == (ExitCode.UNREACHABLE, True), said
    lost = [*lost, "--from-listing"]
    code, found, said = restore(lake, target, *lost, "--dry-run")
    assert (code, found["partitions_of_topic"]) == (0, PARTITIONS), said
    assert "whether an object is missing cannot be checked" in said
    code, _, said = restore(lake, target, *lost, "--group=billing")
    assert (code, "name its --offset" in said) == (ExitCode.USAGE, True), said
    assert log_ends(lake.cluster, target) == [0] * PARTITIONS
    code, _, said = restore(lake, target, *lost)
    assert code == 0, said
    assert_whole(lake, target)
    assert_translated(lake, target, *lost)


def test_a_restore_that_began_before_its_cluster_was_lost_goes_on(lake, lost, tmp_path):
    target = new_topic(lake, **SMALL)
    await_death(begin_with_end(tmp_path, words(lake, target), Step.COMMITTED, 2, signal.SIGKILL))
    code, found, said = restore(lake, target, *lost, "--from-listing", "--dry-run")
    assert found["partitions"][0]["restored_records"] > 0, said
    code, found, said = restore(lake, target, *lost, "--from-listing")
    assert code == 0, said
    restored = [each["restored_records"] for each in found["partitions"]]
    assert restored == [len(some) for some in content(lake.cluster, lake.topic).values()]
    assert_whole(lake, target)
