"""A region that does not answer is not asked at each pass, and is named in the log."""

import logging
import time

import pytest

from replicator.config.topology import KafkaCluster
from replicator.groups.offset_sync.own_word import ANSWER_SECONDS_MAX, OwnWord

NOWHERE = KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]})
PLACES = [("orders", 3)]


@pytest.fixture
def silent():
    return OwnWord("west", NOWHERE)


def test_a_region_that_does_not_answer_is_named_once_and_left_in_peace(silent, caplog):
    began = time.monotonic()
    with caplog.at_level(logging.WARNING):
        assert [silent.commits(["billing"], PLACES) for _ in range(100)] == [None] * 100
    assert time.monotonic() - began < 2 * ANSWER_SECONDS_MAX
    assert [line.split()[:2] for line in caplog.messages] == [
        ["event=own-commits-unseen", "region=west"]
    ]


def test_its_first_answer_is_told(silent, caplog, monkeypatch):
    silent.commits(["billing"], PLACES)
    caplog.clear()
    silent._quiet_until = 0.0
    monkeypatch.setattr(silent._groups, "commits", lambda groups, partitions: {"billing": {}})
    with caplog.at_level(logging.WARNING):
        assert silent.commits(["billing"], PLACES) == {"billing": {}}
        assert silent.commits(["billing"], PLACES) == {"billing": {}}
    assert [line.split()[0] for line in caplog.messages] == ["event=own-commits-seen"]
