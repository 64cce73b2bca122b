"""Inserts whose commit got no answer and was not made: a server shows their rows for a while."""

from __future__ import annotations

import pytest

from aggregator.upsert import query_session
from tests.world.checks.wrong import Wrong
from tests.world.upserts import history, questions
from tests.world.upserts.scene import Course

LOST_ANSWERS = Course(only=("lose answers",))
SEED = 7


def test_no_query_shows_rows_that_were_not_committed():
    assert history.play(SEED, LOST_ANSWERS).records > 0


def test_the_look_for_such_parts_is_needed(monkeypatch):
    monkeypatch.setitem(questions.ANSWERS, query_session.UNCOMMITTED, lambda *_: [(0,)])
    with pytest.raises(Wrong, match=r"ch-\d shows at At"):
        history.play(SEED, LOST_ANSWERS)
