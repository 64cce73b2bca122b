"""Faults that are dealt where a course names them: answers of ZooKeeper that are lost, servers that
are rebuilt."""

from __future__ import annotations

import pytest

from aggregator.store import recognition
from tests.world.checks.wrong import Wrong
from tests.world.upserts import history, server_questions
from tests.world.upserts.scene import Course

LOST_ANSWERS = Course(only=("lose answers",))
REBUILDS = Course(only=("rebuild a server",))
SEED = 7
REBUILT_SEED = 5
"""With its old name, a rebuilt server shows rows here that have ended."""


def test_no_query_shows_rows_that_were_not_committed():
    assert history.play(SEED, LOST_ANSWERS).records > 0


def test_the_look_for_such_parts_is_needed(monkeypatch):
    monkeypatch.setitem(server_questions.ANSWERS, recognition.UNCOMMITTED, lambda *_: [(0,)])
    with pytest.raises(Wrong, match=r"ch-\d shows at At"):
        history.play(SEED, LOST_ANSWERS)


def test_a_server_that_was_rebuilt_shows_nothing_that_was_counted_before():
    assert history.play(REBUILT_SEED, REBUILDS).records > 0
